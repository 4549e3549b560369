"""The containers' command lines, configuration and probes, run without a container engine: two relays with a Redis."""

import contextlib
import http.client
import os
import shutil
import signal
import subprocess

import pytest
from apns import COUNT, token
from relayed import BEARER, EXAMPLES, TOPIC, Bearing, Crowd, ask, copy
from relaying import relay_program
from simulator import DEADLINE, ROOT, until

yaml = pytest.importorskip("yaml", reason="Python has no yaml (Debian: python3-yaml)")
PLACE = EXAMPLES / "containers"
REDIS = 6379
# Both relays are in one network here. Each container has both ports itself.
PORTS = {"relay-1": (8200, 8199), "relay-2": (8300, 8299)}


def kubernetes():
    """The objects by kind and name."""
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all((PLACE / "kubernetes.yaml").read_text())}


def container(kind, name):
    (one,) = kubernetes()[kind, name]["spec"]["template"]["spec"]["containers"]
    return one


class Containers:
    """The services of compose.yaml as processes, with the files of this test in the places of the mounted ones."""

    def __init__(self, directory, apns):
        self.directory, self.processes = directory, {}
        self.services = yaml.safe_load((PLACE / "compose.yaml").read_text())["services"]
        (directory / "data").mkdir()
        (directory / "secrets").mkdir()
        for name, text in ("redis_password", "swordfish"), ("apns_clients", f"{BEARER} shop\n"):
            (directory / "secrets" / name).write_text(text)
        shutil.copy(apns.ready["token_key"], directory / "secrets/apns_key")
        for name, (http_port, status_port) in PORTS.items():
            copy("containers/relay.yaml", directory / f"{name}.yaml", {
                "/run/secrets": directory / "secrets", "redis://redis:6379": f"redis://127.0.0.1:{REDIS}", "com.example.shop": TOPIC,
                "ABC123DEFG": apns.ready["token_key_id"], "DEF123GHIJ": apns.ready["token_team_id"],
                "port: 8199": f"port: {status_port}", "port: 8200": f"port: {http_port}",
                "    credentials:\n": f"    host: 127.0.0.1\n    port: {apns.ready['http2_port']}\n    guard: {{share: 0.5}}\n"
                                        f"    credentials:\n      ca: {apns.ready['ca']}\n"})

    def here(self, words):
        return [word.replace("/run/secrets", str(self.directory / "secrets")).replace("/data", str(self.directory / "data")) for word in words]

    def start(self, service):
        words = self.services[service]["command"]
        if service == "redis":
            words = self.here(words)
        else:
            entry = (ROOT / "Packaging/docker/relay.Dockerfile").read_text()
            assert 'ENTRYPOINT ["/apns-relay"]' in entry
            words = [relay_program(), *(word.replace("/etc/apns/relay.yaml", str(self.directory / f"{service}.yaml")) for word in words)]
        log = open(self.directory / f"{service}.log", "a")
        # A container is a group of processes.
        self.processes[service] = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)

    def log(self, service):
        return (self.directory / f"{service}.log").read_text()

    def probe(self, service, probe):
        """Runs a probe of kubernetes.yaml as the kubelet does: by the pod's address, which is not a loopback address there."""
        ports = dict(zip(("http", "status"), PORTS.get(service, ())))
        if "exec" in probe:
            return subprocess.run(self.here(probe["exec"]["command"]), capture_output=True).returncode == 0
        if "tcpSocket" in probe:
            with contextlib.suppress(OSError), contextlib.closing(http.client.HTTPConnection("127.0.0.1", ports[probe["tcpSocket"]["port"]])) as one:
                one.connect()
                return True
            return False
        with contextlib.suppress(OSError):
            return get(ports[probe["httpGet"]["port"]], probe["httpGet"]["path"]) == 200

    def end(self, service):
        """As `docker stop` and the kubelet do."""
        process = self.processes.pop(service)
        process.send_signal(signal.SIGTERM)
        return process.wait(DEADLINE)

    def kill(self):
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def get(port, path):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)) as connection:
        connection.request("GET", path, headers={"Host": f"10.1.2.3:{port}"})
        return connection.getresponse().status


@pytest.fixture
def containers(apns, tmp_path):
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        pytest.skip("redis-server and redis-cli are not here (Debian: redis-server redis-tools)")
    one = Containers(tmp_path, apns)
    yield one
    one.kill()


def test_two_relays_with_a_redis(containers, apns):
    relay, redis = container("Deployment", "apns-relay"), container("StatefulSet", "redis")
    containers.start("redis")
    until(lambda: containers.probe("redis", redis["readinessProbe"]), lambda: containers.log("redis"))
    health = containers.services["redis"]["healthcheck"]["test"]
    assert health[0] == "CMD-SHELL" and subprocess.run(containers.here(["sh", "-c", health[1].replace("$$", "$")])).returncode == 0
    for name in PORTS:
        containers.start(name)
    for name in PORTS:
        until(lambda: containers.probe(name, relay["readinessProbe"]), lambda: containers.log(name))
        until(lambda: get(PORTS[name][1], "/readyz") == 200, lambda: containers.log(name))
    # Both relays have clients, as through a service.
    crowd = Crowd(lambda part: contextlib.closing(Bearing(PORTS[f"relay-{part % 2 + 1}"][0])))
    crowd.allow(COUNT // 2)
    crowd.wait(lambda: len(crowd.told) >= 60)
    apns.kill()
    before, waiting = dict(crowd.told), crowd.statuses[202]
    crowd.allow(COUNT // 4)
    crowd.wait(lambda: crowd.statuses[202] >= waiting + 16)
    until(lambda: get(PORTS["relay-1"][1], "/readyz") == get(PORTS["relay-2"][1], "/readyz") == 503)
    # The relays stay, and stay in the service, while APNs is away.
    for name in PORTS:
        assert containers.probe(name, relay["livenessProbe"]) and containers.probe(name, relay["readinessProbe"])
    apns.start()
    crowd.wait(lambda: len(crowd.told) >= 3 * COUNT // 4)
    crowd.allow(COUNT // 4)
    crowd.wait(lambda: all(part.done() for part in crowd.parts))
    crowd.check_against(apns, before)
    # One relay ends, and the other one has the queue.
    assert containers.end("relay-1") == 0, containers.log("relay-1")
    assert not containers.probe("relay-1", relay["readinessProbe"])
    with contextlib.closing(Bearing(PORTS["relay-2"][0])) as one:
        assert ask(one, token(1))[:2] == (200, None)
    # Nobody pushes without a bearer token.
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", PORTS["relay-2"][0], timeout=DEADLINE)) as one:
        assert ask(one, token(1))[:2] == (403, "MissingProviderToken")


def test_a_relay_waits_for_redis_by_its_restarts(containers):
    """It ends if Redis is away when it starts, and the engine starts it again."""
    assert all(containers.services[name]["restart"] == "unless-stopped" for name in PORTS)
    containers.start("relay-1")
    assert containers.processes.pop("relay-1").wait(DEADLINE) == 2
    containers.start("redis")
    until(lambda: containers.probe("redis", container("StatefulSet", "redis")["readinessProbe"]))
    containers.start("relay-1")
    until(lambda: get(PORTS["relay-1"][1], "/readyz") == 200 if "ready, with" in containers.log("relay-1") else False)


def test_both_files_say_the_same():
    assert kubernetes()["ConfigMap", "apns-relay"]["data"]["relay.yaml"] == (PLACE / "relay.yaml").read_text()
    compose = yaml.safe_load((PLACE / "compose.yaml").read_text())
    assert compose["services"]["redis"]["command"] == container("StatefulSet", "redis")["command"]
    for name in PORTS:
        service = compose["services"][name]
        assert service["command"] == container("Deployment", "apns-relay")["args"]
        assert service["image"] == container("Deployment", "apns-relay")["image"]
    printed = subprocess.run([relay_program(), "--print-config"], check=True, capture_output=True, text=True).stdout
    drain = int(yaml.safe_load(printed)["drain_timeout"].rstrip("s"))
    pod = kubernetes()["Deployment", "apns-relay"]["spec"]["template"]["spec"]
    assert drain < min(pod["terminationGracePeriodSeconds"], int(service["stop_grace_period"].rstrip("s")))


def test_compose_accepts_its_file(tmp_path):
    program = shutil.which("docker-compose")
    if not program:
        pytest.skip("docker-compose is not here (Debian: docker-compose)")
    said = subprocess.run([program, "-f", PLACE / "compose.yaml", "config", "-q"], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr


def test_kubernetes_accepts_its_file():
    program = shutil.which(os.environ.get("KUBERNETES_VALIDATE", "kubernetes-validate"))
    if not program:
        pytest.skip("kubernetes-validate is not here (PyPI: kubernetes-validate)")
    said = subprocess.run([program, "--strict", PLACE / "kubernetes.yaml"], capture_output=True, text=True)
    assert said.returncode == 0 and (said.stdout + said.stderr).count(" passed ") == len(kubernetes()), said
