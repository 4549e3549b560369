"""The containers' command lines, configuration and probes, run without a container engine: two relays with a Redis."""

import contextlib
import http.client
import os
import shutil
import subprocess

import pytest
from apns import COUNT, token
from hosts import Host, need
from relayed import BEARER, EXAMPLES, Bearing, Crowd, ask, copy, for_this_test
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

    def __init__(self, directory, apns, keep):
        self.directory, self.keep, self.hosts = directory, keep, {}
        self.services = yaml.safe_load((PLACE / "compose.yaml").read_text())["services"]
        (directory / "data").mkdir()
        (directory / "secrets").mkdir()
        for name, text in ("redis_password", "swordfish"), ("apns_clients", f"{BEARER} shop\n"):
            (directory / "secrets" / name).write_text(text)
        shutil.copy(apns.ready["token_key"], directory / "secrets/apns_key")
        for name, (http_port, status_port) in PORTS.items():
            copy("containers/relay.yaml", directory / f"{name}.yaml", {
                "/run/secrets": directory / "secrets", "redis://redis:6379": f"redis://127.0.0.1:{REDIS}",
                "port: 8199": f"port: {status_port}", "port: 8200": f"port: {http_port}"} | for_this_test(apns))

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
        self.hosts[service] = self.keep(Host(words, self.directory / f"{service}.log"))

    def health(self, service):
        """Runs the health check of compose.yaml; returns its status and its line."""
        kind, program, *words = self.services[service]["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "/apns-relay")
        words = [word.replace("/etc/apns/relay.yaml", str(self.directory / f"{service}.yaml")) for word in words]
        ran = subprocess.run([relay_program(), *words], capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr

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


def get(port, path):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)) as connection:
        connection.request("GET", path, headers={"Host": f"10.1.2.3:{port}"})
        return connection.getresponse().status


@pytest.fixture
def containers(apns, tmp_path, keep):
    need("redis-server")
    need("redis-cli", "redis-tools")
    return Containers(tmp_path, apns, keep)


def test_two_relays_with_a_redis(containers, apns):
    relay, redis = container("Deployment", "apns-relay"), container("StatefulSet", "redis")
    containers.start("redis")
    until(lambda: containers.probe("redis", redis["readinessProbe"]), lambda: containers.hosts["redis"].text())
    health = containers.services["redis"]["healthcheck"]["test"]
    assert health[0] == "CMD-SHELL" and subprocess.run(containers.here(["sh", "-c", health[1].replace("$$", "$")])).returncode == 0
    for name in PORTS:
        assert containers.health(name) == (1, f"0.0.0.0:{PORTS[name][1]}: Connection refused\n")
        containers.start(name)
    for name in PORTS:
        until(lambda: containers.probe(name, relay["readinessProbe"]), lambda: containers.hosts[name].text())
        until(lambda: get(PORTS[name][1], "/readyz") == 200, lambda: containers.hosts[name].text())
    # Both relays have clients, as through a service.
    crowd = Crowd(lambda part: contextlib.closing(Bearing(PORTS[f"relay-{part % 2 + 1}"][0])))
    before = crowd.until_apns_dies(apns, more=COUNT // 4, waiting=16)
    until(lambda: get(PORTS["relay-1"][1], "/readyz") == get(PORTS["relay-2"][1], "/readyz") == 503)
    # The relays stay, and stay in the service, while APNs is away.
    for name in PORTS:
        assert containers.probe(name, relay["livenessProbe"]) and containers.probe(name, relay["readinessProbe"])
        assert containers.health(name) == (0, "ok\n")
    apns.start()
    crowd.wait(lambda: len(crowd.told) >= 3 * COUNT // 4)
    crowd.allow(COUNT // 4)
    crowd.finish(apns, before)
    # One relay ends, and the other one has the queue.
    assert containers.hosts["relay-1"].end() == 0, containers.hosts["relay-1"].text()
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
    assert containers.hosts["relay-1"].process.wait(DEADLINE) == 2
    containers.start("redis")
    until(lambda: containers.probe("redis", container("StatefulSet", "redis")["readinessProbe"]))
    containers.start("relay-1")
    until(lambda: get(PORTS["relay-1"][1], "/readyz") == 200 if "ready, with" in containers.hosts["relay-1"].text() else False)


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
    program = need("docker-compose")
    said = subprocess.run([program, "-f", PLACE / "compose.yaml", "config", "-q"], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr


def test_kubernetes_accepts_its_file():
    program = shutil.which(os.environ.get("KUBERNETES_VALIDATE", "kubernetes-validate"))
    if not program:
        pytest.skip("kubernetes-validate is not here (PyPI: kubernetes-validate)")
    said = subprocess.run([program, "--strict", PLACE / "kubernetes.yaml"], capture_output=True, text=True)
    assert said.returncode == 0 and (said.stdout + said.stderr).count(" passed ") == len(kubernetes()), said
