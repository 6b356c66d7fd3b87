"""The files a control plane reads: tokens, keys, kubeconfigs."""

from pathlib import Path

import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

USERS = {"admin": "system:masters", "growth": "growth", "nobody": "nobody"}
"""User and group. Only the admin may do anything; the others have what a test's role bindings give them."""


def token(user: str) -> str:
    """Return the bearer token of a user of this control plane."""
    return f"{user}-token"


def write_tokens(folder: Path) -> Path:
    """Write and return the static token file."""
    path = folder / "tokens.csv"
    path.write_text("".join(f'{token(user)},{user},{user}-uid,"{group}"\n' for user, group in USERS.items()))
    return path


def write_audit_policy(folder: Path) -> Path:
    """Write and return the policy by which the API server writes down each call of Growth's own account, no other's."""
    path = folder / "audit-policy.yaml"
    growth = {"level": "Metadata", "userGroups": ["system:serviceaccounts:growth-system"]}
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [growth, {"level": "None"}],
    }
    path.write_text(yaml.safe_dump(policy))
    return path


def write_service_account_key(folder: Path) -> tuple[Path, Path]:
    """Write and return a fresh RSA pair, private and public."""
    private, public = folder / "service-account.key", folder / "service-account.pub"
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


def write_kubeconfig(folder: Path, user: str, url: str, authority: Path) -> Path:
    """Write and return the kubeconfig of a user; its only context is named `e2e`."""
    path = folder / f"{user}.kubeconfig"
    cluster = {"server": url, "certificate-authority": str(authority)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "e2e",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token(user)}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user}}],
    }
    path.write_text(yaml.safe_dump(config))
    return path
