"""Which of the node's GPUs a process sees under CUDA_VISIBLE_DEVICES.

NVML lists every GPU whatever that variable says (optimum-benchmark#47): a mean over all of them takes in GPUs that the
server never touches.
"""

from __future__ import annotations

from collections.abc import Sequence


def seen(
    listed: str | None, order: str | None, uuids: Sequence[str | None], names: Sequence[str | None]
) -> list[bool | None]:
    """For each GPU in NVML's order whether it is visible; None where that cannot be told.

    `listed` and `order` are the values of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, None when unset. CUDA counts its
    devices fastest first unless told PCI_BUS_ID, NVML by PCI bus: a number means the same GPU in both only then, or
    when all GPUs are of one model. Entries after the first that names no GPU are ignored, as CUDA does (CUDA C++
    Programming Guide, environment variables). A MIG entry names a slice, not a GPU: which GPU it is on is not told.
    """
    if listed is None:
        return [True] * len(uuids)
    same_order = order == "PCI_BUS_ID" or len(set(names)) <= 1
    found: set[int] = set()
    for entry in (part.strip() for part in listed.split(",")):
        if entry.isdecimal():
            if int(entry) >= len(uuids):
                break
            if not same_order:
                return [None] * len(uuids)
            found.add(int(entry))
        elif entry.startswith("GPU-"):
            matches = [index for index, uuid in enumerate(uuids) if uuid is not None and uuid.startswith(entry)]
            if len(matches) != 1:
                break
            found.add(matches[0])
        elif entry.startswith("MIG-"):
            return [None] * len(uuids)
        else:
            break
    return [index in found for index in range(len(uuids))]
