"""gRPC health per service, and reflection: what a load balancer and a curious person ask."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from tests.conformance.server import Clients
from tests.feature.test_single_type_services import SERVICES, VIRTUAL_HOSTS
from xds_server.wire.csds import CSDS

ADS = "envoy.service.discovery.v3.AggregatedDiscoveryService"
NAMES = [ADS, CSDS, *(f"envoy.service.{each.name}" for each in (*SERVICES, VIRTUAL_HOSTS))]
SERVING = health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("service", ["", *NAMES])
async def test_health_of_each_service(clients: Clients, service: str) -> None:
    stub: Any = health_pb2_grpc.HealthStub(await clients.channel())
    request = health_pb2.HealthCheckRequest(service=service)
    assert (await stub.Check(request)).status == SERVING
    watch = stub.Watch(request)
    assert (await watch.read()).status == SERVING
    watch.cancel()


async def test_health_of_a_service_that_is_not_there(clients: Clients) -> None:
    stub: Any = health_pb2_grpc.HealthStub(await clients.channel())
    request = health_pb2.HealthCheckRequest(service="example.Nothing")
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await stub.Check(request)
    assert error.value.code() is grpc.StatusCode.NOT_FOUND
    watch = stub.Watch(request)
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    watch.cancel()


async def test_reflection_lists_the_services(clients: Clients) -> None:
    answer = await _reflect(await clients.channel(), list_services="")
    listed = {each.name for each in answer.list_services_response.service}
    assert {*NAMES, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"} <= listed


@pytest.mark.parametrize("service", [*NAMES, "grpc.health.v1.Health"])
async def test_reflection_describes_each_service(clients: Clients, service: str) -> None:
    answer = await _reflect(await clients.channel(), file_containing_symbol=service)
    files = [
        descriptor_pb2.FileDescriptorProto.FromString(each)
        for each in answer.file_descriptor_response.file_descriptor_proto
    ]
    assert service in {f"{file.package}.{each.name}" for file in files for each in file.service}


async def _reflect(channel: grpc.aio.Channel, **question: Any) -> reflection_pb2.ServerReflectionResponse:
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type]
    call = stub.ServerReflectionInfo()
    await call.write(reflection_pb2.ServerReflectionRequest(**question))
    answer = await call.read()
    call.cancel()
    assert isinstance(answer, reflection_pb2.ServerReflectionResponse)
    return answer
