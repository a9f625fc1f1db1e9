/* A load of ready-made frames: connections, each with so many requests in flight, one thread, epoll.
 *
 * It knows no protocol. A plan says, for each connection, which bytes to send and in which order;
 * the command line says how an answer is told from the next one. So the same program loads every
 * broker, and none is favoured by a client's cleverness.
 *
 *   plan    u32 connections, then for each: u32 opening, bytes; u32 frames, then for each: u32 length, bytes
 *           (all little-endian). The opening is sent first and not timed; nothing or 0 bytes: there is none.
 *   answer  head AT WIDTH ENDIAN: a head of so many bytes that has the length of the rest at AT
 *           lines N:              so many line feeds
 *   greeting  so many bytes that the broker says first, on every connection
 *
 * Prints one JSON object. Exits 1 where a peer closes, errs, or an answer is not as --expect says.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KEPT 256          /* of each answer, for --expect */
#define IN_FLIGHT_MAX 64
#define LATENCIES_MAX (1u << 23)
#define EVENTS_MAX 1024

typedef struct { uint32_t size; const unsigned char *bytes; } Frame;

typedef struct {
    int socket;
    Frame *frames;
    uint32_t frame_count, next;       /* the frame that is sent next */
    uint64_t sent_at, left;           /* bytes of the current frame that are sent; frames left in --once */
    uint32_t in_flight, oldest;       /* answers owed; begins[] is a ring */
    double begins[IN_FLIGHT_MAX];
    unsigned char kept[KEPT];
    uint64_t answer_at, answer_size;  /* bytes of the current answer that came; its size, 0: not known yet */
    int lines, wants_write;
} Peer;

static struct {
    const char *host; int port; const char *plan;
    double seconds; int once, in_flight;
    uint32_t head, at; int big, lines, opening_lines, greeting;
    uint32_t expect_at, expect_size; unsigned char expect[64];
    double rate;
} options = { "127.0.0.1", 0, 0, 2.0, 0, 1, 4, 0, 1, 0, 1, 0, 0, 0, {0}, 0 };

static float *latencies;
static uint32_t latency_count;
static uint64_t requests, bytes_out, bytes_in;
static int poller, stopping;
static double deadline, next_due;
static unsigned char scratch[1 << 20];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "load: %s: %s\n", what, detail);
    exit(1);
}

static void watch(Peer *peer, int wants_write)
{
    struct epoll_event event = { .events = EPOLLIN | (wants_write ? EPOLLOUT : 0), .data.ptr = peer };
    if (peer->wants_write == wants_write)
        return;
    peer->wants_write = wants_write;
    if (epoll_ctl(poller, EPOLL_CTL_MOD, peer->socket, &event))
        fail("epoll_ctl", strerror(errno));
}

static int may_begin(Peer *peer, double time)
{
    if (stopping || peer->in_flight >= (uint32_t)options.in_flight || (options.once && !peer->left))
        return 0;
    if (options.rate > 0) {           /* an open loop: requests are due at fixed times, whoever is late */
        if (next_due > time)
            return 0;
        next_due += 1 / options.rate;
    }
    return 1;
}

static void send_on(Peer *peer, double time)
{
    for (;;) {
        Frame *frame = &peer->frames[peer->next];
        if (!peer->sent_at) {
            if (!may_begin(peer, time))
                break;
            peer->begins[(peer->oldest + peer->in_flight++) % IN_FLIGHT_MAX] =
                options.rate > 0 ? next_due - 1 / options.rate : time;
            if (options.once)
                peer->left--;
        }
        ssize_t sent = send(peer->socket, frame->bytes + peer->sent_at, frame->size - peer->sent_at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            watch(peer, 1);
            return;
        }
        if (sent < 0)
            fail("send", strerror(errno));
        bytes_out += sent;
        peer->sent_at += sent;
        if (peer->sent_at < frame->size)
            continue;
        peer->sent_at = 0;
        peer->next = (peer->next + 1) % peer->frame_count;
    }
    watch(peer, 0);
}

static void answered(Peer *peer, double time)
{
    if (!peer->in_flight)
        fail("answer", "more answers than requests");
    if (options.expect_size && memcmp(peer->kept + options.expect_at, options.expect, options.expect_size)) {
        fprintf(stderr, "load: an answer is not as expected; it begins with ");
        for (uint32_t i = 0; i < KEPT && i < peer->answer_at; i++)
            fprintf(stderr, "%02x", peer->kept[i]);
        fprintf(stderr, "\n");
        exit(1);
    }
    if (latency_count < LATENCIES_MAX)
        latencies[latency_count++] = (float)((time - peer->begins[peer->oldest]) * 1e6);
    peer->oldest = (peer->oldest + 1) % IN_FLIGHT_MAX;
    peer->in_flight--;
    peer->answer_at = peer->answer_size = 0;
    peer->lines = 0;
    requests++;
}

static uint64_t length_of(const unsigned char *bytes)
{
    uint32_t length;
    memcpy(&length, bytes, 4);
    return options.big ? ntohl(length) : length;
}

static void keep(Peer *peer, const unsigned char *bytes, uint64_t count)
{
    if (peer->answer_at < KEPT) {
        uint64_t room = KEPT - peer->answer_at;
        memcpy(peer->kept + peer->answer_at, bytes, count < room ? count : room);
    }
    peer->answer_at += count;
}

/* Takes what belongs to the current answer; how much that was. */
static uint64_t take(Peer *peer, const unsigned char *bytes, uint64_t count, double time)
{
    if (options.lines) {
        const unsigned char *end = memchr(bytes, '\n', count);
        uint64_t taken = end ? (uint64_t)(end - bytes) + 1 : count;
        keep(peer, bytes, taken);
        if (end && ++peer->lines == options.lines)
            answered(peer, time);
        return taken;
    }
    uint64_t whole = peer->answer_size ? peer->answer_size : options.head;
    uint64_t taken = whole - peer->answer_at < count ? whole - peer->answer_at : count;
    keep(peer, bytes, taken);
    if (peer->answer_at == options.head && !peer->answer_size)
        peer->answer_size = options.head + length_of(peer->kept + options.at);
    if (peer->answer_size && peer->answer_at == peer->answer_size)
        answered(peer, time);
    return taken;
}

static void receive(Peer *peer)
{
    for (;;) {
        ssize_t count = recv(peer->socket, scratch, sizeof scratch, 0);
        if (count < 0 && errno == EAGAIN)
            return;
        if (count < 0)
            fail("recv", strerror(errno));
        if (!count)
            fail("recv", "the broker closed the connection");
        bytes_in += count;
        double time = now();
        for (ssize_t at = 0; at < count;)
            at += take(peer, scratch + at, count - at, time);
        if ((size_t)count < sizeof scratch)
            return;
    }
}

static uint32_t number(const unsigned char **at)
{
    uint32_t value;
    memcpy(&value, *at, 4);
    *at += 4;
    return value;
}

static void open_peer(Peer *peer, const unsigned char **at)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(options.port) };
    inet_pton(AF_INET, options.host, &address.sin_addr);
    peer->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (peer->socket < 0 || connect(peer->socket, (struct sockaddr *)&address, sizeof address))
        fail("connect", strerror(errno));
    int one = 1;
    setsockopt(peer->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    char byte;
    for (int left = options.greeting; left; left--)
        if (recv(peer->socket, &byte, 1, 0) != 1)
            fail("greeting", "the broker closed the connection");
    uint32_t opening = number(at);
    if (opening) {
        for (int lines = 0; lines < options.opening_lines;)
            if (recv(peer->socket, &byte, 1, 0) != 1)
                fail("opening", "the broker closed the connection");
            else
                lines += byte == '\n';
        if (send(peer->socket, *at, opening, MSG_NOSIGNAL) != (ssize_t)opening)
            fail("opening", strerror(errno));
        *at += opening;
    }
    peer->frame_count = number(at);
    peer->left = peer->frame_count;
    peer->frames = calloc(peer->frame_count, sizeof(Frame));
    for (uint32_t i = 0; i < peer->frame_count; i++) {
        peer->frames[i].size = number(at);
        peer->frames[i].bytes = *at;
        *at += peer->frames[i].size;
    }
    fcntl(peer->socket, F_SETFL, O_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = peer };
    if (epoll_ctl(poller, EPOLL_CTL_ADD, peer->socket, &event))
        fail("epoll_ctl", strerror(errno));
}

static const unsigned char *read_plan(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, strerror(errno));
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(size);
    if (fread(bytes, 1, size, file) != (size_t)size)
        fail(path, "could not be read");
    fclose(file);
    return bytes;
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--host")) options.host = value;
        else if (!strcmp(name, "--port")) options.port = atoi(value);
        else if (!strcmp(name, "--plan")) options.plan = value;
        else if (!strcmp(name, "--seconds")) options.seconds = atof(value);
        else if (!strcmp(name, "--once")) options.once = atoi(value);
        else if (!strcmp(name, "--in-flight")) options.in_flight = atoi(value);
        else if (!strcmp(name, "--head")) options.head = atoi(value);
        else if (!strcmp(name, "--at")) options.at = atoi(value);
        else if (!strcmp(name, "--endian")) options.big = !strcmp(value, "big");
        else if (!strcmp(name, "--lines")) options.lines = atoi(value);
        else if (!strcmp(name, "--greeting")) options.greeting = atoi(value);
        else if (!strcmp(name, "--rate")) options.rate = atof(value);
        else if (!strcmp(name, "--expect-at")) options.expect_at = atoi(value);
        else if (!strcmp(name, "--expect")) {
            options.expect_size = strlen(value) / 2;
            for (uint32_t k = 0; k < options.expect_size && k < sizeof options.expect; k++)
                sscanf(value + 2 * k, "%2hhx", &options.expect[k]);
        } else fail("unknown option", name);
    }
    if (!options.port || !options.plan || options.in_flight < 1 || options.in_flight > IN_FLIGHT_MAX)
        fail("usage", "load --port P --plan FILE [--seconds S | --once 1] [--in-flight 1..64] [--rate R] "
                      "[--greeting BYTES] [--head N --at K --endian big|little | --lines N] [--expect-at K --expect HEX]");
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double at_part(double part)
{
    return latency_count ? latencies[(uint32_t)(part * (latency_count - 1))] : 0;
}

static void report(double seconds)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    qsort(latencies, latency_count, sizeof(float), by_value);
    printf("{\"requests\": %llu, \"seconds\": %.6f, \"bytes_out\": %llu, \"bytes_in\": %llu, "
           "\"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f, \"cpu_s\": %.3f}\n",
           (unsigned long long)requests, seconds, (unsigned long long)bytes_out, (unsigned long long)bytes_in,
           at_part(0.5), at_part(0.99), at_part(1.0),
           used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
}

/* How long there may be nothing to do: a tenth of a second, or until a request is due. */
static struct timespec until_due(void)
{
    double wait = 0.1;
    if (options.rate > 0 && !stopping)
        wait = next_due - now() < wait ? next_due - now() : wait;
    struct timespec t = { 0, wait > 0 ? (long)(wait * 1e9) : 0 };
    return t;
}

static int is_done(Peer *peers, uint32_t count, double time)
{
    uint32_t busy = 0;
    if (!options.once && time >= deadline)
        stopping = 1;
    for (uint32_t i = 0; i < count; i++)
        busy += peers[i].in_flight || peers[i].sent_at || (options.once && peers[i].left);
    return (stopping || options.once) && !busy;
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    const unsigned char *at = read_plan(options.plan);
    uint32_t count = number(&at);
    Peer *peers = calloc(count, sizeof(Peer));
    latencies = malloc(sizeof(float) * LATENCIES_MAX);
    poller = epoll_create1(0);
    for (uint32_t i = 0; i < count; i++)
        open_peer(&peers[i], &at);
    struct epoll_event events[EVENTS_MAX];
    double begin = now();
    deadline = begin + options.seconds;
    next_due = begin;
    for (uint32_t i = 0; i < count; i++)
        send_on(&peers[i], begin);
    while (!is_done(peers, count, now())) {
        struct timespec wait = until_due();
        int found = epoll_pwait2(poller, events, EVENTS_MAX, &wait, NULL);
        for (int i = 0; i < found; i++) {
            Peer *peer = events[i].data.ptr;
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                receive(peer);
            send_on(peer, now());
        }
        if (options.rate > 0)
            for (uint32_t i = 0; i < count; i++)
                send_on(&peers[i], now());
    }
    report(now() - begin);
    return 0;
}
