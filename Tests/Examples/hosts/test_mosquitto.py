"""The plugin for Mosquitto: publisher and subscriber learn each outcome of the simulator's ledger."""

import contextlib
import itertools
import json
import os
import queue
import signal
import subprocess

import pytest
from apns import BAD, COUNT, PORT, token
from hosts import Host, need
from native import assert_undisturbed, assert_valgrind_is_quiet, compiled, durations, silent_apns, valgrind
from simulator import DEADLINE, until

mqtt = pytest.importorskip("paho.mqtt.client", reason="python3-paho-mqtt is not installed")
from paho.mqtt.packettypes import PacketTypes  # noqa: E402
from paho.mqtt.properties import Properties  # noqa: E402

MQTT_PORT = 1883
APP = "com.example.app"
PAYLOAD = '{"aps":{"alert":"Hello"}}'


@pytest.fixture(scope="session")
def plugin(tmp_path_factory):
    need("mosquitto")
    return compiled("cc", "Examples/integrations/mosquitto/mosquitto_apns.c", tmp_path_factory.mktemp("mosquitto") / "mosquitto_apns.so")


@pytest.fixture
def broker(apns, plugin, tmp_path, keep):
    """Starts a broker with the plugin, or with other lines instead of the plugin's."""
    numbers = itertools.count()

    def start(*more, plugin=plugin, before=(), arguments=(), **options):
        lines = ["user root" if os.geteuid() == 0 else "", "persistence false", "log_dest stderr", "log_type all", *more,
                 f"listener {MQTT_PORT} 127.0.0.1", "allow_anonymous true"]
        if plugin:
            who = {"key_file": apns.ready["token_key"], "key_id": apns.ready["token_key_id"],
                   "team_id": apns.ready["token_team_id"], "ca_file": apns.ready["ca"], "host": "127.0.0.1", "port": PORT, **options}
            lines += [f"plugin {plugin}", *(f"plugin_opt_{name} {value}" for name, value in who.items() if value)]
        (tmp_path / "mosquitto.conf").write_text("\n".join(lines) + "\n")
        command = [*before, need("mosquitto"), "-c", tmp_path / "mosquitto.conf", *arguments]
        return keep(Host(command, tmp_path / f"broker-{next(numbers)}.log"))

    return start


class Client:
    """A client of the broker with its own thread, which keeps what it receives."""

    def __init__(self, *topics, name="", version=mqtt.MQTTv5, lasting=False):
        arguments = {} if version == mqtt.MQTTv5 else {"clean_session": not lasting}
        self.client, self.received, self.ends, subscribed = mqtt.Client(name, protocol=version, **arguments), queue.Queue(), [], queue.Queue()
        self.client.on_message = lambda client, data, message: self.received.put(message)
        self.client.on_disconnect = lambda client, data, *rest: self.ends.append(rest)
        self.client.on_subscribe = lambda client, data, *rest: subscribed.put(rest)
        self.client.reconnect_delay_set(1, 1)
        self.client.connect("127.0.0.1", MQTT_PORT)
        self.client.loop_start()
        for topic in topics:
            self.client.subscribe(topic, 1)
            subscribed.get(timeout=DEADLINE)

    def publish(self, topic, payload=PAYLOAD, qos=1, properties=None):
        """Waits for the PUBACK, if there is one."""
        sent = self.client.publish(topic, payload, qos, properties=properties)
        sent.wait_for_publish(DEADLINE)
        assert sent.is_published()

    def push(self, hex_, *rest, **more):
        self.publish(f"push/{APP}/{hex_}", *rest, **more)

    def next(self):
        message = self.received.get(timeout=DEADLINE)
        return message.topic, json.loads(message.payload), message

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.disconnect()
        self.client.loop_stop()


def headers(**named):
    properties = Properties(PacketTypes.PUBLISH)
    for name, value in named.items():
        setattr(properties, name, value)
    return properties


class Told:
    """The outcomes that a subscriber gets, by device token."""

    def __init__(self, client):
        self.client, self.outcomes = client, {}

    def wait(self, count):
        while len(self.outcomes) < count:
            topic, outcome, _ = self.client.next()
            prefix, app, hex_ = topic.split("/")
            assert (prefix, app) == ("push-outcome", APP)
            assert hex_ not in self.outcomes, (hex_, outcome, self.outcomes[hex_])
            self.outcomes[hex_] = outcome
        return self.outcomes


def ping_pong(client, count, meanwhile=lambda n: None):
    def once(n):
        client.publish("ping", json.dumps(n), qos=0)
        assert client.next()[1] == n

    times = []
    for n in range(count):
        meanwhile(n)
        times += durations(1, lambda _, n=n: once(n))
    return times


def test_apns_away(apns, broker):
    """Each push has one outcome, told once, and arrives once: a quarter is in flight at the crash, and sent again."""
    with contextlib.ExitStack() as stack:
        host = broker(plugin=None).listens(MQTT_PORT)
        with Client("ping") as pinger:
            before = ping_pong(pinger, 100)
        host.end()

        host = broker().listens(MQTT_PORT)
        listener, publisher, pinger = (stack.enter_context(Client(*topics)) for topics in (["push-outcome/#"], [], ["ping"]))
        told = Told(listener)
        for n in range(COUNT // 2):
            if n == COUNT // 4:
                told.wait(n)
                apns.wait(n)
                apns.stop()
            publisher.push(token(n))
        apns.kill()
        with silent_apns():
            # One push in each round; each has its PUBACK though nothing is known about it.
            during = ping_pong(pinger, COUNT // 2, lambda n: publisher.push(token(COUNT // 2 + n)))
        apns.start()
        outcomes = told.wait(COUNT)
        assert_undisturbed(before, during)

        rejected = {hex_: outcome for hex_, outcome in outcomes.items() if outcome["outcome"] == "rejected"}
        assert {(one["reason"], one["status"]) for one in rejected.values()} == {("BadDeviceToken", 400)}
        apns.wait(COUNT)
        apns.judge({hex_ for hex_, outcome in outcomes.items() if outcome["outcome"] == "accepted"}, rejected)
        for hex_ in BAD:
            assert f"push to {APP}/{hex_[:8]}" in host.text()
    assert host.end() == 0


def hostile(apns, broker, **options):
    host = broker(**options).listens(MQTT_PORT)
    with Client("push-outcome/#", "answer/#") as listener, Client("answer/#", name="asker") as asker:
        def refused(topic, payload=PAYLOAD, to=None, **more):
            asker.publish(topic, payload, **more)
            where, outcome, _ = listener.next()
            assert outcome["outcome"] == "refused", outcome
            assert where == (to or "push-outcome/" + topic.removeprefix("push/"))
            return outcome["reason"]

        good = f"push/{APP}/{token(1)}"
        assert "not hex" in refused(f"push/{APP}/5u79")
        assert "no hex digit" in refused(f"push/{APP}/")
        refused(f"push/{APP}/{'ab' * 101}")
        for topic in "push/", f"push/{APP}", f"push/{APP}/a/b", f"push/{'x' * 600}/ab", f"push/{'a/' * 100}":
            refused(topic, to="push-outcome")
        for topic in "push//", f"push//{token(1)}", f"push/a b/{token(1)}", f"push/{'x' * 300}/{token(1)}":
            refused(topic)
        for payload in b"", b"Hello", b"[]", b'{"aps":', b"\xff\xfe", b'{"aps":{}}\0', b'{"aps":{"badge":"9"}}', b"x" * 5000, b"x" * 3_000_000:
            refused(good, payload)
        for name, value in ("apns-priority", "11"), ("apns-priority", ""), ("apns-push-type", "postcard"), ("apns-colour", "red"), ("apns-expiration", "soon"):
            refused(good, properties=headers(UserProperty=(name, value)))
        refused(good, properties=headers(UserProperty=[("apns-collapse-id", "a"), ("apns-collapse-id", "b")]))
        refused(good, properties=headers(CorrelationData=b"x" * 60000))
        refused(good, properties=headers(UserProperty=("apns-collapse-id", "x" * 65)))

        # A negative PUBACK where MQTT has one.
        for version, text in ("mqttv5", "Not authorized"), ("mqttv311", ""):
            done = subprocess.run([need("mosquitto_pub", "mosquitto-clients"), "-V", version, "-t", good, "-m", "Hello", "-q", "1"],
                                  capture_output=True, text=True, timeout=DEADLINE)
            assert text in done.stderr and bool(text) == bool(done.stderr), done.stderr
            assert listener.next()[1]["outcome"] == "refused"

        # The headers reach APNs, and a response topic only its publisher.
        asker.push(token(2), properties=headers(
            UserProperty=[("apns-collapse-id", "game"), ("apns-priority", "5"), ("apns-push-type", "background"), ("colour", "red")],
            ResponseTopic="answer/1", CorrelationData=b"one"))
        for client, topic in (listener, f"push-outcome/{APP}/{token(2)}"), (asker, "answer/1"):
            where, outcome, message = client.next()
            assert (where, outcome["outcome"], message.properties.CorrelationData) == (topic, "accepted", b"one")
        apns.wait(1)
        pushed = apns.ledger()[-1]
        assert (pushed["token"], pushed["collapse_id"], pushed["priority"], pushed["push_type"]) == (token(2), "game", "5", "background")
        for n, topic in (7, "answer/#"), (8, ""):
            asker.push(token(n), properties=headers(ResponseTopic=topic))
            assert listener.next()[1]["outcome"] == "accepted"
        # QoS 0, and MQTT 3.
        with Client(version=mqtt.MQTTv311) as old:
            old.push(token(3), qos=0)
            assert listener.next()[1]["outcome"] == "accepted"
            old.push(token(4), qos=2)
            assert listener.next()[1]["outcome"] == "accepted"
        # A reload with the same key, and one with a broken key.
        key = host.key
        host.tell(signal.SIGHUP)
        host.wait_for("Reloading config")
        asker.push(token(5))
        assert listener.next()[1]["outcome"] == "accepted"
        key.write_text("broken")
        host.tell(signal.SIGHUP)
        host.wait_for("the old credentials stay in use")
        asker.push(token(6))
        assert listener.next()[1]["outcome"] == "accepted"
        assert listener.received.empty() and asker.received.empty()
        apns.wait(7)

        # The end, with pushes in flight.
        apns.kill()
        for n in range(10, 40):
            asker.push(token(n))
    assert host.end() == 0
    lost = [line for line in host.text().splitlines() if "APNs: push to" in line and "cancelled" in line]
    assert len(lost) == 30, host.text()
    apns.start()


@pytest.fixture
def keyed(apns, broker, tmp_path):
    """Brokers with a copy of the key, to break it."""
    key = tmp_path / "AuthKey.p8"

    def start(**options):
        with open(apns.ready["token_key"]) as original:
            key.write_text(original.read())
        host = broker("message_size_limit 0", key_file=key, **options)
        host.key = key
        return host

    return start


def test_hostile_messages(apns, keyed):
    hostile(apns, keyed)


def test_hostile_messages_with_valgrind(apns, keyed, tmp_path):
    log = tmp_path / "valgrind"
    hostile(apns, keyed, before=valgrind(log))
    assert_valgrind_is_quiet(log, "mosquitto_apns", "apns_")


def test_full_session(apns, broker):
    """MQTT 5 has a reply for a full session. An MQTT 3 client loses its connection, and sends the message again later."""
    host = broker().listens(MQTT_PORT)
    line = json.dumps({"aps": {"alert": "x" * 4000}})
    apns.kill()
    with Client("push-outcome/#") as listener, silent_apns():
        # One client, until the session is full.
        done = subprocess.run(
            [need("mosquitto_pub", "mosquitto-clients"), "-V", "mqttv5", "-t", f"push/{APP}/{token(1)}", "-l", "-q", "1"],
            input=(line + "\n") * 1200, capture_output=True, text=True, timeout=DEADLINE)
        refused = done.stderr.count("Not authorized")
        assert 0 < refused < 1200
        for _ in range(refused):
            assert listener.next()[1] == {"outcome": "refused", "reason": "the session is full"}
        assert host.text().count("the session is full") == 1

        old = Client(name="old", version=mqtt.MQTTv311, lasting=True)
        old.client.publish(f"push/{APP}/{token(2)}", line, 1)
        until(lambda: old.ends, host.text)
    with old, Client("push-outcome/#") as listener:
        apns.start()
        until(lambda: apns.accepted()[token(2)] == 1, host.text)
        until(lambda: apns.accepted()[token(1)] == 1200 - refused, lambda: apns.accepted())
    assert host.end() == 0


def test_after_a_fork(apns, broker, tmp_path):
    """As a daemon: the broker forks before it loads the plugin."""
    pid_file = tmp_path / "pid"
    host = broker(f"pid_file {pid_file}", f"log_dest file {tmp_path / 'log'}", arguments=["-d"])
    assert host.process.wait(DEADLINE) == 0
    pid = int(until(lambda: pid_file.exists() and pid_file.read_text()))
    try:
        until(lambda: "running" in (tmp_path / "log").read_text())
        with Client("push-outcome/#") as client:
            client.push(token(1))
            assert client.next()[1]["outcome"] == "accepted"
        os.kill(pid, signal.SIGTERM)
        until(lambda: not pid_file.exists(), (tmp_path / "log").read_text)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(lambda: apns.accepted() == {token(1): 1})


@pytest.mark.parametrize("options", [{"key_file": "/nonexistent"}, {"key_file": None}, {"port": "http"}, {"port": "70000"}, {"environment": "moon"}, {"colour": "red"}])
def test_wrong_options(apns, broker, options):
    host = broker(**options)
    assert host.process.wait(DEADLINE) != 0
    assert "APNs: " in host.text()


def test_per_listener_settings(apns, broker):
    """Such a broker never calls the plugin's tick, so the plugin could not publish outcomes."""
    host = broker("per_listener_settings true").listens(MQTT_PORT)
    client = Client()
    with client:
        client.client.publish(f"push/{APP}/{token(1)}", PAYLOAD, 1)
        host.wait_for("per_listener_settings")
        until(lambda: client.ends)
    assert host.end() == 0
    assert apns.ledger() == []
