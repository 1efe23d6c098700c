"""Runs nginx as docs/deploy.md sets it up in front of a real server, with TLS, and asks through it.

    python scripts/check_proxy.py            needs nginx and openssl

The configuration is the one of the page: only its ports and the paths of the certificate, which is made here,
are others. Asked are the page, a translation, a stream (its first event must come while the rest is still
being computed, not with it), a request that a page of another name makes, and a document that is too large.
"""

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = "mt.example.org"
TEXT = "5. März 2024"
MIB = 1 << 20


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def configuration(folder: Path, port: int, behind: int) -> str:
    """The server block of the page, in a file that nginx takes."""
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```nginx\n(.*?)```", page, flags=re.DOTALL)
    for old, new in {
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "127.0.0.1:7717": f"127.0.0.1:{behind}",
        f"/etc/ssl/{NAME}": f"{folder}/{NAME}",
    }.items():
        assert old in block, old
        block = block.replace(old, new)
    places = "\n".join(f"{one}_temp_path {folder}/{one};" for one in ("client_body", "proxy", "fastcgi"))
    more = "\n".join(f"{one}_temp_path {folder}/{one};" for one in ("uwsgi", "scgi"))
    return (
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{places}\n{more}\n{block}\n}}\n"
    )


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate for the name, made here; a client that trusts it and no other."""
    made = [folder / f"{NAME}.{kind}" for kind in ("key", "pem")]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN={NAME}",
    ]
    command += ["-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(made[0]), "-out", str(made[1])]
    subprocess.run(command, check=True, capture_output=True)
    return ssl.create_default_context(cafile=str(made[1]))


class Client:
    """Asks the proxy by its name, wherever that leads."""

    def __init__(self, port: int, trusted: ssl.SSLContext) -> None:
        self.port, self.trusted = port, trusted

    def open(self) -> http.client.HTTPSConnection:
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection = http.client.HTTPSConnection(NAME, self.port, timeout=60)
        connection.sock = self.trusted.wrap_socket(raw, server_hostname=NAME)
        return connection

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, bytes]:
        connection = self.open()
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()


def stream_parts(client: Client) -> list[bytes]:
    """What came at once, again and again, of a translation that grows."""
    connection = client.open()
    asked = json.dumps({"model": "transformer", "text": " ".join([TEXT + "."] * 40), "sentences": "split"})
    connection.request("POST", "/v1/translate/stream", asked.encode(), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    parts = []
    while part := answer.read1(65536):
        parts.append(part)
    return parts


def check(client: Client) -> None:
    status, page = client.ask("GET", "/")
    assert status == 200, status
    assert b"jumok" in page
    asked = {"model": "transformer", "texts": [TEXT]}
    status, said = client.ask("POST", "/v1/translate", asked, Origin=f"https://{NAME}:{client.port}")
    assert status == 200, said
    assert b"2024-03-05" in said, said
    print("page and translation over TLS: yes")
    parts = stream_parts(client)
    assert len(parts) > 2, f"all events came at once: {len(parts)}"
    print(f"stream: {len(parts)} parts, the first of {len(parts[0])} bytes")
    status, said = client.ask("POST", "/v1/translate", asked, Origin="https://elsewhere.example")
    assert status == 403, (status, said)
    print("a page of another name: refused")
    status, _ = client.ask("POST", "/v1/documents", b" " * (34 * MIB))
    assert status == 413, status
    print("a document of 34 MiB: refused")


def main() -> int:
    for needed in ("nginx", "openssl"):
        if shutil.which(needed) is None:
            print(f"error: there is no {needed}", file=sys.stderr)
            return 1
    behind, port = free_port(), free_port()
    serve = [sys.executable, "-m", "jumok", "serve", "--port", str(behind), "--json"]
    serve += ["--allowed-host", NAME, "--trusted-proxy", "127.0.0.1"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trusted = certificate(folder)
        (folder / "nginx.conf").write_text(configuration(folder, port, behind), encoding="utf-8")
        nginx = ["nginx", "-p", name, "-e", f"{name}/error.log", "-c", f"{name}/nginx.conf"]
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        proxy = subprocess.Popen(nginx)
        try:
            assert server.stdout is not None
            server.stdout.readline()
            for _ in range(100):
                if (folder / "pid").exists():
                    break
                time.sleep(0.1)
            check(Client(port, trusted))
        finally:
            for one in (proxy, server):
                one.terminate()
                one.wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
