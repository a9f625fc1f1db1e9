from tests.support.real_broker import broker as broker
