"""What `deploy/` holds fits the program: options exist, limits are limits, probes ask what is there.

No container engine is needed: manifests are held to a small schema of our own, which knows the fields that
they use and where those belong. `scripts/check_image.py` runs the steps of the Dockerfile.
"""

import configparser
import re
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from scripts.check_image import HOME, left_by, stages, value, words

from jumok.server.app import build_app
from jumok.server.gates.hosts import Hosts
from jumok.server.gates.limits import Limits, read_limits
from jumok.server.gates.middleware import PROBES
from jumok.server.metrics import Metrics
from tests.test_docs import ROOT, parse

DEPLOY = ROOT / "deploy"
KUBERNETES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
PORT = 7717
LONGEST_DRAIN = Limits().drain_s


def loaded(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


def check_command(entry: list[str], more: list[str]) -> list[str]:
    """The words after `jumok serve`, which must parse as they stand."""
    assert entry[0] == f"{HOME}/bin/jumok"
    given = [*entry[1:], *(word.replace("$(POD_IP)", "10.0.0.1") for word in more)]
    assert given[0] == "serve"
    parse(given)
    return given


# The image


@pytest.fixture(scope="module")
def image() -> list[tuple[str, str]]:
    """The stage that is shipped."""
    return stages((DEPLOY / "Dockerfile").read_text(encoding="utf-8"))[-1]


def test_the_image_runs_the_server_without_rights(image: list[tuple[str, str]]) -> None:
    assert value(image, "USER") == "10001:10001"
    assert value(image, "EXPOSE") == str(PORT)
    given = check_command(words(value(image, "ENTRYPOINT")), ["--insecure"])
    assert given == ["serve", "--host", "0.0.0.0", "--insecure"]
    probe = words(value(image, "HEALTHCHECK"))
    assert f"http://127.0.0.1:{PORT}{PROBES[2]}" in probe[-1]
    compile(probe[-1], "HEALTHCHECK", "exec")
    assert not any(word == "RUN" for word, _ in image)  # what was needed to build it stays behind


def test_the_image_installs_extras_that_exist_from_files_that_it_gets() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    build = stages((DEPLOY / "Dockerfile").read_text(encoding="utf-8"))[0]
    [extras] = re.findall(r'"\.\[([\w,]+)\]"', value(build, "RUN"))
    assert set(extras.split(",")) <= project["project"]["optional-dependencies"].keys()
    assert "train" not in extras  # PyTorch is not needed to serve
    names = ["src/jumok/__init__.py", "pyproject.toml", "hatch_build.py", "constraints.txt", "README.md"]
    names += project["project"]["license-files"]
    assert all((ROOT / name).is_file() for name in names)
    others = ["tests/test_deploy.py", ".git/config", "deploy/key.txt", "src/jumok/native/libjumok.so"]
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    assert list(left_by(ignore, [*names, *others])) == names


# Compose


def test_the_compose_file_runs_the_image_sealed(image: list[tuple[str, str]]) -> None:
    compose = loaded("compose.yaml")
    server = compose["services"]["jumok"]
    assert (ROOT / server["build"]["dockerfile"]).is_file()
    check_command(words(value(image, "ENTRYPOINT")), server["command"])
    assert read_limits([], server["environment"]) != Limits()
    assert server["read_only"] is True
    assert server["tmpfs"] == ["/tmp"]
    assert server["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert int(server["stop_grace_period"].removesuffix("s")) > LONGEST_DRAIN
    for one in compose["services"].values():
        named = [volume.split(":")[0] for volume in one["volumes"]]
        for name in named:
            assert (DEPLOY / name).is_file() if name.startswith("./") else name in compose["volumes"]
        assert set(one["secrets"]) <= compose["secrets"].keys()


def test_prometheus_asks_by_a_name_that_the_server_has_and_with_its_key() -> None:
    command = loaded("compose.yaml")["services"]["jumok"]["command"]
    [job] = loaded("prometheus.yml")["scrape_configs"]
    [target] = job["static_configs"][0]["targets"]
    allowed = [after for word, after in zip(command, command[1:], strict=False) if word == "--allowed-host"]
    assert Hosts(allowed).admit(target)
    assert job["authorization"]["credentials_file"] == command[command.index("--api-key-file") + 1]
    assert "/metrics" in paths()


# systemd


def test_the_unit_starts_reloads_and_stops_it() -> None:
    unit = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "jumok.service", encoding="utf-8")
    service = unit["Service"]
    program, *rest = shlex.split(service["ExecStart"])
    check_command([program, rest[0]], rest[1:])
    credential = service["LoadCredential"].split(":")[0]
    assert rest[rest.index("--api-key-file") + 1] == f"%d/{credential}"
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert int(service["TimeoutStopSec"]) > LONGEST_DRAIN
    assert service["DynamicUser"] == service["NoNewPrivileges"] == "yes"
    name, _, number = service["Environment"].partition("=")
    assert read_limits([], {name: number}) != Limits()


# Kubernetes: a schema of the fields that are used. A dict is an object, a list has items of one shape, a type
# is a value, ANY is a map with keys of one's own.

ANY: dict[str, Any] = {"*": str}
META = {"name": str, "labels": ANY, "annotations": ANY}
PROBE = {
    "httpGet": {"path": str, "port": str},
    "periodSeconds": int,
    "failureThreshold": int,
}
CONTAINER = {
    "name": str,
    "image": str,
    "args": [str],
    "env": [{"name": str, "value": str, "valueFrom": {"fieldRef": {"fieldPath": str}}}],
    "ports": [{"name": str, "containerPort": int}],
    "startupProbe": PROBE,
    "readinessProbe": PROBE,
    "livenessProbe": PROBE,
    "lifecycle": {"preStop": {"exec": {"command": [str]}}},
    "resources": {"requests": ANY, "limits": ANY},
    "securityContext": {
        "allowPrivilegeEscalation": bool,
        "readOnlyRootFilesystem": bool,
        "capabilities": {"drop": [str]},
    },
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
POD = {
    "terminationGracePeriodSeconds": int,
    "securityContext": {
        "runAsNonRoot": bool,
        "runAsUser": int,
        "runAsGroup": int,
        "fsGroup": int,
        "seccompProfile": {"type": str},
    },
    "containers": [CONTAINER],
    "volumes": [
        {
            "name": str,
            "persistentVolumeClaim": {"claimName": str, "readOnly": bool},
            "secret": {"secretName": str},
            "emptyDir": {"sizeLimit": str},
        }
    ],
}
SPECS: dict[tuple[str, str], Any] = {
    ("apps/v1", "Deployment"): {
        "replicas": int,
        "selector": {"matchLabels": ANY},
        "template": {"metadata": META, "spec": POD},
    },
    ("v1", "Service"): {"selector": ANY, "ports": [{"name": str, "port": int, "targetPort": str}]},
    ("v1", "PersistentVolumeClaim"): {"accessModes": [str], "resources": {"requests": ANY}},
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {
        "scaleTargetRef": {"apiVersion": str, "kind": str, "name": str},
        "minReplicas": int,
        "maxReplicas": int,
        "metrics": [
            {
                "type": str,
                "pods": {"metric": {"name": str}, "target": {"type": str, "averageValue": str}},
            }
        ],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": int}},
    },
}


def faults(found: Any, shape: Any, where: str) -> Iterator[str]:
    """Where a document is not of a shape."""
    match shape:
        case dict():
            if not isinstance(found, dict):
                yield f"{where} is no object"
                return
            for key, inner in found.items():
                wanted = shape.get(key, shape.get("*"))
                if wanted is None:
                    yield f"{where}.{key} is unknown"
                else:
                    yield from faults(inner, wanted, f"{where}.{key}")
        case list():
            if not isinstance(found, list) or not found:
                yield f"{where} is no list"
                return
            for number, inner in enumerate(found):
                yield from faults(inner, shape[0], f"{where}.{number}")
        case _:
            if type(found) is not shape:
                yield f"{where} is no {shape.__name__}"


def manifests() -> dict[str, Any]:
    """By their kind."""
    found = [
        document
        for path in KUBERNETES
        if path.name != "adapter-values.yaml"
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    ]
    return {document["kind"]: document for document in found}


def paths() -> set[str]:
    return set(build_app({}).openapi()["paths"])


def test_every_manifest_has_fields_that_exist_where_they_are() -> None:
    found = manifests()
    assert {(one["apiVersion"], one["kind"]) for one in found.values()} == SPECS.keys()
    for kind, document in found.items():
        spec = SPECS[document["apiVersion"], kind]
        shape = {"apiVersion": str, "kind": str, "metadata": META, "spec": spec}
        assert list(faults(document, shape, kind)) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"replica": 2}, "Deployment.spec.replica is unknown"),
        ({"replicas": "2"}, "Deployment.spec.replicas is no int"),
        ({"template": {"spec": {"containers": []}}}, "Deployment.spec.template.spec.containers is no list"),
        ({"selector": "jumok"}, "Deployment.spec.selector is no object"),
    ],
)
def test_the_schema_notices(change: dict[str, Any], fault: str) -> None:
    spec = manifests()["Deployment"]["spec"] | change
    assert list(faults(spec, SPECS["apps/v1", "Deployment"], "Deployment.spec")) == [fault]


def test_the_deployment_runs_the_image_sealed_and_in_time(image: list[tuple[str, str]]) -> None:
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    check_command(words(value(image, "ENTRYPOINT")), container["args"])
    environment = {one["name"]: one.get("value", "") for one in container["env"]}
    assert "POD_IP" in environment
    assert read_limits([], environment) != Limits()
    assert environment["OMP_NUM_THREADS"] == container["resources"]["limits"]["cpu"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    user = value(image, "USER").split(":")[0]
    assert str(pod["securityContext"]["runAsUser"]) == user
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    assert "/tmp" in [one["mountPath"] for one in container["volumeMounts"]]
    waits = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > waits + LONGEST_DRAIN


def test_probes_ask_endpoints_that_need_neither_name_nor_key() -> None:
    [container] = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports == {"http": PORT}
    for kind, path in (("startup", "ready"), ("readiness", "ready"), ("liveness", "live")):
        asked = container[f"{kind}Probe"]["httpGet"]
        assert asked == {"path": f"/health/{path}", "port": "http"}
        assert asked["path"] in PROBES
        assert asked["path"] in paths()


def test_the_manifests_speak_of_each_other() -> None:
    found = manifests()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["Service"]["spec"]["ports"][0]["targetPort"] == "http"
    claim = found["Deployment"]["spec"]["template"]["spec"]["volumes"][0]["persistentVolumeClaim"]
    assert claim["claimName"] == found["PersistentVolumeClaim"]["metadata"]["name"]
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    deployment = found["Deployment"]
    assert target == {
        "apiVersion": deployment["apiVersion"],
        "kind": "Deployment",
        "name": deployment["metadata"]["name"],
    }


def test_pods_are_added_by_a_metric_that_the_server_has() -> None:
    [metric] = manifests()["HorizontalPodAutoscaler"]["spec"]["metrics"]
    name = metric["pods"]["metric"]["name"]
    assert name in {family.name for family in Metrics().collect()}
    [rule] = loaded("kubernetes/adapter-values.yaml")["rules"]["custom"]
    assert rule["seriesQuery"].startswith(f"{name}{{")
