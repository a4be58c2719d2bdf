"""What all sections of the configuration have in common: frozen, no unknown keys, `key:` alone means empty."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator

from xds_server.settings.units import Filename


class Section(BaseModel):
    """A mapping of the configuration file. Its attributes' docstrings are the reference's text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _nothing_is_empty(cls, value: object) -> object:
        """A section whose keys are all commented out is there and empty."""
        return {} if value is None else value


class Tls(Section):
    """Certificates for one listening address; the files are read again when they change."""

    cert: Filename
    """PEM file with the certificate chain."""
    key: Filename
    """PEM file with its private key."""
    client_ca: Filename | None = None
    """PEM file with the authorities whose client certificates are required; none: clients need no certificate."""
