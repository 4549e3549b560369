"""nginx and Apache as TLS fronts of the relay's HTTP listener."""

import concurrent.futures
import contextlib
import http.client
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile

import pytest
from apns import COUNT, token
from hosts import Host, need
from relayed import BEARER, PAYLOAD, TOPIC, Crowd, ask, copy
from simulator import DEADLINE, make_certificates, until

PORT = 8444

NGINX = """
{user}daemon off; worker_processes 2; pid {directory}/pid; error_log {directory}/error.log info;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {directory}/a; proxy_temp_path {directory}/b; fastcgi_temp_path {directory}/c;
  uwsgi_temp_path {directory}/d; scgi_temp_path {directory}/e;
  include {directory}/apns-relay.conf;
}}
"""

APACHE = """
ServerRoot {directory}
PidFile {directory}/pid
ErrorLog {directory}/error.log
DefaultRuntimeDir {directory}
{modules}
{user}Listen 127.0.0.1:{port}
ServerName localhost
Include {directory}/apns-relay.conf
"""
APACHE_MODULES = "mpm_event authn_core authz_core alias ssl socache_shmcb http2 proxy proxy_http headers rewrite".split()


class Front:
    """A web server with the example's files, and clients with certificates."""

    def __init__(self, name, directory, keep):
        self.name, self.directory = name, directory / name
        self.directory.mkdir()
        program = need(*{"nginx": ("nginx", "nginx-light"), "apache": ("apache2",)}[name])
        self.certificates = make_certificates(self.directory / "certificates", "/CN=shop")
        self.stranger = self.sign("stranger")
        self.configure()
        self.host = keep(Host([program, *self.options], self.directory / "error.log"))
        self.host.listens(PORT)

    def sign(self, name):
        """Makes a certificate of the clients' CA for another client."""
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.certificates, check=True, capture_output=True)

        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key", "-out", "request",
                "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", "request", "-out", f"{name}.crt", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "77")
        both = self.certificates / f"{name}.pem"
        both.write_text((self.certificates / f"{name}.crt").read_text() + (self.certificates / f"{name}.key").read_text())
        return both

    def configure(self):
        of, is_root = self.certificates, os.getuid() == 0
        etc = {"nginx": "/etc/nginx", "apache": "/etc/apache2"}[self.name]
        places = {
            "/etc/ssl/certs/push.example.com.pem": of / "server.pem", "/etc/ssl/private/push.example.com.key": of / "server.key",
            f"{etc}/apns-clients-ca.pem": of / "ca.pem", f"{etc}/apns-clients.map": self.directory / "apns-clients.map",
            "/run/apns-relay": self.directory.parent, "push.example.com": "localhost"}
        copy(f"{self.name}/apns-clients.map", self.directory / "apns-clients.map", {BEARER: BEARER})
        if self.name == "nginx":
            copy("nginx/apns-relay.conf", self.directory / "apns-relay.conf", places | {"listen 443": f"listen 127.0.0.1:{PORT}"})
            (self.directory / "main").write_text(NGINX.format(user="user root;\n" if is_root else "", directory=self.directory))
            self.options = ["-p", self.directory, "-c", self.directory / "main", "-e", self.directory / "error.log"]
        else:
            copy("apache/apns-relay.conf", self.directory / "apns-relay.conf", places | {"*:443": f"*:{PORT}"})
            modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in APACHE_MODULES)
            # Apache refuses to serve as root.
            user = "User www-data\nGroup www-data\n" if is_root else ""
            (self.directory / "main").write_text(APACHE.format(directory=self.directory, modules=modules, user=user, port=PORT))
            self.options = ["-D", "FOREGROUND", "-f", self.directory / "main"]

    def client(self, certificate=None):
        context = ssl.create_default_context(cafile=self.certificates / "ca.pem")
        if certificate is not False:
            context.load_cert_chain(certificate or self.certificates / "provider.pem")
        return contextlib.closing(http.client.HTTPSConnection("localhost", PORT, context=context, timeout=DEADLINE))


@pytest.fixture(params=["nginx", "apache"])
def front(request, relays, tmp_path, keep):
    """A front; `start` starts its relays: nginx has two, Apache one."""
    # Apache gives up root's rights, and cannot enter the directories of pytest.
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        (tmp_path / "tokens").write_text(f"{BEARER} shop\n")
        one = Front(request.param, place, keep)

        def start(wait):
            one.relays = [
                relays(socket=str(place / f"{n}.sock"), socket_mode="666", authorization_file=str(tmp_path / "tokens"), wait=wait)
                for n in ((1, 2) if one.name == "nginx" else (1,))]

        one.start = start
        yield one
        assert one.host.alive() and one.host.end() == 0, one.host.text()


def test_each_push_once(front, apns):
    front.start(wait="200ms")
    crowd = Crowd(lambda part: front.client())
    # APNs is away, and every request has a response.
    before = crowd.until_apns_dies(apns, more=COUNT // 4, waiting=24)
    assert not crowd.statuses[503]
    apns.start()
    crowd.wait(lambda: len(crowd.told) >= 3 * COUNT // 4)
    # If one of nginx's two relays stops, no client notices. Apache's only one starts again.
    front.relays[0].stop()
    crowd.allow(COUNT // 4)
    if front.name == "apache":
        crowd.wait(lambda: crowd.statuses[503] >= 5)
        front.relays[0].start().wait_ready()
    crowd.finish(apns, before)
    assert (front.name == "apache") == (crowd.statuses[503] > 0), crowd.statuses


def test_a_front_authorizes_and_limits(front, apns):
    front.start(wait="30s")
    with front.client() as connection:
        assert ask(connection, token(1))[:2] == (200, None)
        assert ask(connection, token(1), authorization="bearer of Apple's token")[0] == 200
        assert ask(connection, token(1), apns_topic="com.example.other")[:2] == (400, "TopicDisallowed")
        assert ask(connection, token(1), origin="https://example.com")[:2] == (403, "Forbidden")
        assert ask(connection, token(1), path="/other/")[:2] == (404, "BadPath")
    with front.client() as connection:
        assert ask(connection, token(1), b"x" * 5000)[:2] == (413, "PayloadTooLarge")
    with front.client() as connection:
        assert ask(connection, token(1), b"x" * 20000)[:2] == (413, "PayloadTooLarge")
    # Another client of the same CA has no token.
    with front.client(front.stranger) as connection:
        assert ask(connection, token(1))[:2] == (403, "Forbidden")
    with front.client(False) as connection, contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("POST", f"/3/device/{token(1)}", PAYLOAD)
        assert connection.getresponse().status == 400
    if shutil.which("curl"):
        certificates = front.certificates
        said = subprocess.run(
            ["curl", "-sS", "--http2", "--cacert", certificates / "ca.pem", "-E", certificates / "provider.pem", "-d", PAYLOAD,
             "-H", f"apns-topic: {TOPIC}", "-w", "%{http_version} %{http_code}", f"https://localhost:{PORT}/3/device/{token(2)}"],
            capture_output=True, text=True, timeout=DEADLINE)
        assert said.stdout == "2 200", said
    assert apns.accepted() == {token(1): 2, token(2): 1}
    # Without a relay there is an answer too.
    for one in front.relays:
        one.stop()
    with front.client() as connection:
        assert ask(connection, token(1))[:2] == (503, "ServiceUnavailable")


@pytest.mark.parametrize("front", ["nginx"], indirect=True)
def test_nginx_repeats_a_push_and_it_arrives_once(front, apns):
    """A relay is killed after it has queued a push and before its response. nginx asks the other relay with the same ID."""
    front.start(wait="30s")
    first, second = front.relays
    apns.kill()
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(9) as pool:
        connections = [stack.enter_context(front.client()) for _ in range(9)]
        asked = [pool.submit(ask, each, token(n + 1)) for n, each in enumerate(connections)]
        until(lambda: first.queue.entries_so_far() == 9)
        first.kill()
        apns.start()
        answers = [each.result() for each in asked]
        assert {status for status, _, _ in answers} == {200}, answers
    assert apns.accepted() == {token(n + 1): 1 for n in range(9)}
