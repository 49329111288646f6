// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events and the choice of the device.

#include "HostCall.h"

using namespace tile::runtime;

extern "C" {

TILE_RUNTIME_EXPORT CUstream mgpuStreamCreate() {
  EntryPoint call;
  if (!call)
    return nullptr;
  if (call->hasGivenStream())
    return call->givenStream();
  CUstream stream = nullptr;
  if (!call->check(call->api().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                   "cuStreamCreate"))
    return nullptr;
  if (call->isBracket)
    call->owned.streams[stream] = call->contextKey().context;
  return stream;
}

TILE_RUNTIME_EXPORT void mgpuStreamDestroy(CUstream stream) {
  EntryPoint call;
  if (!call || !stream || call->isGivenStream(stream))
    return;
  // The errors of what is still running would have nowhere to arrive.
  if (call->isRunning(stream) && !call->waitForStream(stream))
    return;
  call->owned.streams.erase(stream);
  call->check(call->api().cuStreamDestroy(stream), "cuStreamDestroy");
}

TILE_RUNTIME_EXPORT void mgpuStreamSynchronize(CUstream stream) {
  EntryPoint call;
  if (call)
    call->waitForStream(call->stream(stream));
}

TILE_RUNTIME_EXPORT void mgpuStreamWaitEvent(CUstream stream, CUevent event) {
  EntryPoint call;
  if (call)
    call->check(call->api().cuStreamWaitEvent(call->stream(stream), event, 0),
                "cuStreamWaitEvent");
}

TILE_RUNTIME_EXPORT CUevent mgpuEventCreate() {
  EntryPoint call;
  CUevent event = nullptr;
  if (!call ||
      !call->check(call->api().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
                   "cuEventCreate"))
    return nullptr;
  if (call->isBracket)
    call->owned.events[event] = call->contextKey().context;
  return event;
}

TILE_RUNTIME_EXPORT void mgpuEventDestroy(CUevent event) {
  EntryPoint call;
  if (!call || !event)
    return;
  call->owned.events.erase(event);
  call->check(call->api().cuEventDestroy(event), "cuEventDestroy");
}

TILE_RUNTIME_EXPORT void mgpuEventSynchronize(CUevent event) {
  EntryPoint call;
  if (call)
    call->waitForEvent(event);
}

TILE_RUNTIME_EXPORT void mgpuEventRecord(CUevent event, CUstream stream) {
  EntryPoint call;
  if (call)
    call->check(call->api().cuEventRecord(event, call->stream(stream)),
                "cuEventRecord");
}

TILE_RUNTIME_EXPORT void mgpuSetDefaultDevice(int32_t device) {
  if (isShutDown())
    return;
  HostCall &call = HostCall::current();
  if (call.ok())
    call.setDevice(device);
}

} // extern "C"
