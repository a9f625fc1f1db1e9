// Tries one feature of kafkajs; exit codes as in tests/interop/clients/harness.py.
'use strict'

const { Kafka, CompressionTypes, ConfigResourceTypes, logLevel } = require('kafkajs')

const NO_SUCH_CALL = 4
const PATIENCE_MS = 25_000
const [feature, bootstrap, name] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'kafkajs', brokers: [bootstrap], logLevel: logLevel.NOTHING })
const VALUES = Array.from({ length: 100 }, (_, number) => `value ${number} `.repeat(20))

async function withAdmin(use) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await use(admin)
  } finally {
    await admin.disconnect()
  }
}

async function create(partitions = 1, configEntries = []) {
  const topics = [{ topic: name, numPartitions: partitions, replicationFactor: 1, configEntries }]
  expect(await withAdmin(admin => admin.createTopics({ topics })), true)
}

async function produce(values, { spread = false, idempotent = false, acks = -1, compression } = {}) {
  const producer = kafka.producer({ idempotent, allowAutoTopicCreation: false })
  await producer.connect()
  const messages = values.map(value => ({
    key: spread ? value : 'k',
    value,
    headers: { h: '1' },
    ...(spread ? {} : { partition: 0 }),
  }))
  await producer.send({ topic: name, acks, compression, messages })
  await producer.disconnect()
}

/** Read in a group until `count` came, then stop; resolves with the messages. */
async function read(group, count, { commit = false, isolation } = {}) {
  const consumer = kafka.consumer({ groupId: group, readUncommitted: isolation !== 'committed' })
  const found = []
  await consumer.connect()
  await consumer.subscribe({ topics: [name], fromBeginning: true })
  const enough = new Promise(resolve => {
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        if (found.length === count) return
        found.push({ partition, ...message })
        if (found.length === count) resolve()
      },
    })
  })
  await within(enough, `${count} records`)
  if (commit) {
    const offset = String(Number(found[count - 1].offset) + 1)
    await consumer.commitOffsets([{ topic: name, partition: 0, offset }])
  }
  await consumer.disconnect()
  return found
}

async function roundTrip(options) {
  await create()
  await produce(VALUES, options)
  const found = await read(`${name}-reader`, VALUES.length)
  expect(found.map(message => message.value.toString()), VALUES)
  expect(found[0].key + found[0].headers.h, 'k1')
}

async function setting(key) {
  const resources = [{ type: ConfigResourceTypes.TOPIC, name }]
  const found = await withAdmin(admin => admin.describeConfigs({ resources, includeSynonyms: false }))
  return found.resources[0].configEntries.find(entry => entry.configName === key).configValue
}

async function partitionCount() {
  const found = await withAdmin(admin => admin.fetchTopicMetadata({ topics: [name] }))
  return found.topics[0].partitions.length
}

async function filled() {
  await create()
  await produce(VALUES)
}

async function committed() {
  await filled()
  await read(name, 10, { commit: true })
}

const FEATURES = {
  'produce-none': () => roundTrip({}),
  'produce-gzip': () => roundTrip({ compression: CompressionTypes.GZIP }),
  'acks-0': () => roundTrip({ acks: 0 }),
  'acks-1': () => roundTrip({ acks: 1 }),
  'acks-all': () => roundTrip({ acks: -1 }),
  idempotent: () => roundTrip({ idempotent: true }),
  'fetch-committed': async () => {
    await filled()
    expect((await read(`${name}-reader`, 100, { isolation: 'committed' })).length, 100)
  },
  'offsets-ends': async () => {
    await filled()
    const [ends] = await withAdmin(admin => admin.fetchTopicOffsets(name))
    expect([ends.low, ends.high], ['0', '100'])
  },
  'offsets-time': async () => {
    await filled()
    const [first] = await withAdmin(admin => admin.fetchTopicOffsetsByTimestamp(name, 1))
    expect(first.offset, '0')
  },
  'topic-create': () => create(),
  'topic-delete': async () => {
    await create()
    await withAdmin(async admin => {
      await admin.deleteTopics({ topics: [name] })
      await eventually('the topic is gone', async () => !(await admin.listTopics()).includes(name))
    })
  },
  'topic-describe': async () => {
    await create(3)
    expect(await partitionCount(), 3)
  },
  'topic-grow': async () => {
    await create(2)
    await withAdmin(admin => admin.createPartitions({ topicPartitions: [{ topic: name, count: 5 }] }))
    await eventually('five partitions', async () => (await partitionCount()) === 5)
  },
  'configs-describe': async () => {
    await create(1, [{ name: 'retention.ms', value: '7200000' }])
    expect([await setting('retention.ms'), await setting('cleanup.policy')], ['7200000', 'delete'])
  },
  'configs-replace': async () => {
    await create(1, [{ name: 'max.message.bytes', value: '2000' }])
    const configEntries = [{ name: 'retention.ms', value: '7200000' }]
    const resources = [{ type: ConfigResourceTypes.TOPIC, name, configEntries }]
    await withAdmin(admin => admin.alterConfigs({ validateOnly: false, resources }))
    await eventually('the new setting', async () => (await setting('retention.ms')) === '7200000')
    expect(await setting('max.message.bytes'), '1048588')
  },
  'delete-records': async () => {
    await filled()
    const partitions = [{ partition: 0, offset: '40' }]
    await withAdmin(async admin => {
      // It knows the leaders of a topic only once it has asked for something else of it.
      await admin.fetchTopicOffsets(name)
      await admin.deleteTopicRecords({ topic: name, partitions })
    })
    const [ends] = await withAdmin(admin => admin.fetchTopicOffsets(name))
    expect([ends.low, ends.high], ['40', '100'])
  },
  cluster: async () => {
    const found = await withAdmin(admin => admin.describeCluster())
    expect([found.brokers.length, found.clusterId.length > 0], [1, true])
  },
  'group-join': async () => {
    await create(4)
    await produce(VALUES, { spread: true })
    const seen = new Set()
    const owned = [0, 0]
    const members = owned.map(() => kafka.consumer({ groupId: name }))
    for (const [number, member] of members.entries()) {
      member.on(member.events.GROUP_JOIN, ({ payload }) => {
        owned[number] = (payload.memberAssignment[name] || []).length
      })
      await member.connect()
      await member.subscribe({ topics: [name], fromBeginning: true })
      await member.run({ autoCommit: false, eachMessage: async ({ message }) => seen.add(message.value.toString()) })
    }
    await eventually(
      'both members own partitions, and every record came',
      async () => owned[0] > 0 && owned[1] > 0 && owned[0] + owned[1] === 4 && seen.size === 100,
    )
    await Promise.all(members.map(member => member.disconnect()))
  },
  'group-resume': async () => {
    await filled()
    await read(name, 30, { commit: true })
    const [next] = await read(name, 1)
    expect(next.offset, '30')
  },
  'group-list': async () => {
    await committed()
    const { groups } = await withAdmin(admin => admin.listGroups())
    expect(groups.filter(group => group.groupId === name).length, 1)
  },
  'group-describe': async () => {
    await committed()
    const { groups } = await withAdmin(admin => admin.describeGroups([name]))
    expect([groups[0].state, groups[0].members.length], ['Empty', 0])
  },
  'group-offsets': async () => {
    await committed()
    const [found] = await withAdmin(admin => admin.fetchOffsets({ groupId: name, topics: [name] }))
    expect(found.partitions[0].offset, '10')
  },
  'group-reset': async () => {
    await committed()
    const partitions = [{ partition: 0, offset: '3' }]
    await withAdmin(admin => admin.setOffsets({ groupId: name, topic: name, partitions }))
    const [next] = await read(name, 1)
    expect(next.offset, '3')
  },
  'group-delete': async () => {
    await committed()
    await withAdmin(admin => admin.deleteGroups([name]))
    const { groups } = await withAdmin(admin => admin.listGroups())
    expect(groups.some(group => group.groupId === name), false)
  },
}

function expect(found, wanted) {
  const [is, should] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (is !== should) throw new Error(`found ${is.slice(0, 200)}, expected ${should.slice(0, 200)}`)
}

function within(promise, what) {
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`not within ${PATIENCE_MS} ms: ${what}`)), PATIENCE_MS).unref()
  })
  return Promise.race([promise, late])
}

async function eventually(what, holds) {
  const end = Date.now() + PATIENCE_MS
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not within ${PATIENCE_MS} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

async function main() {
  if (!(feature in FEATURES)) process.exit(NO_SUCH_CALL)
  try {
    await FEATURES[feature]()
    process.exit(0)
  } catch (error) {
    console.error(error.stack)
    console.error(`${error.name}: ${error.message}`)
    process.exit(1)
  }
}

main()
