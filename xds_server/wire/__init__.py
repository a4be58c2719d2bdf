"""Bytes: resources as ready fields, requests and responses of the xDS protocol, content versions."""
