"""XXH3, 64 bits, without a seed: the hash Kafka keeps of the topics a group reads. Must agree with every other broker.

Made for a few hundred bytes now and then, not for data: plain arithmetic, masked to 64 bits.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

_MASK: Final = (1 << 64) - 1
_PRIME32_1: Final = 0x9E3779B1
_PRIME32_2: Final = 0x85EBCA77
_PRIME32_3: Final = 0xC2B2AE3D
_PRIME64_1: Final = 0x9E3779B185EBCA87
_PRIME64_2: Final = 0xC2B2AE3D27D4EB4F
_PRIME64_3: Final = 0x165667B19E3779F9
_PRIME64_4: Final = 0x85EBCA77C2B2AE63
_PRIME64_5: Final = 0x27D4EB2F165667C5
_PRIME_MX1: Final = 0x165667919E3779F9
_PRIME_MX2: Final = 0x9FB21C651E98DF25

_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE: Final = 64
_STRIPES_IN_BLOCK: Final = (192 - _STRIPE) // 8
_LANES: Final = Struct("<8Q")
_READ32: Final = Struct("<I").unpack_from
_READ64: Final = Struct("<Q").unpack_from


def xxh3_64(data: bytes) -> int:
    """Returns the hash as a signed number, the way Java has it."""
    value = _hash(data)
    return value - (1 << 64) if value >> 63 else value


def _hash(data: bytes) -> int:
    length = len(data)
    if length <= 16:
        return _hash_up_to_16(data, length)
    if length <= 128:
        return _hash_up_to_128(data, length)
    if length <= 240:
        return _hash_up_to_240(data, length)
    return _hash_long(data, length)


def _hash_up_to_16(data: bytes, length: int) -> int:
    if length > 8:
        low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
        high = _u64(data, length - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
        return _avalanche(length + _swapped(low) + high + _folded(low, high))
    if length >= 4:
        both = _u32(data, length - 4) + (_u32(data, 0) << 32)
        keyed = both ^ _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
        return _strong_avalanche(keyed, length)
    if length:
        first, middle, last = data[0], data[length >> 1], data[-1]
        combined = first << 16 | middle << 24 | last | length << 8
        return _xxh64_avalanche(combined ^ _u32(_SECRET, 0) ^ _u32(_SECRET, 4))
    return _xxh64_avalanche(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))


def _hash_up_to_128(data: bytes, length: int) -> int:
    total = length * _PRIME64_1
    for pair in range((length - 1) // 32 + 1):
        total += _mixed(data, 16 * pair, 32 * pair)
        total += _mixed(data, length - 16 * (pair + 1), 32 * pair + 16)
    return _avalanche(total)


def _hash_up_to_240(data: bytes, length: int) -> int:
    total = length * _PRIME64_1
    for part in range(8):
        total += _mixed(data, 16 * part, 16 * part)
    total = _avalanche(total)
    for part in range(8, length // 16):
        total += _mixed(data, 16 * part, 16 * (part - 8) + 3)
    return _avalanche(total + _mixed(data, length - 16, 136 - 17))


def _hash_long(data: bytes, length: int) -> int:
    lanes = [
        _PRIME32_3,
        _PRIME64_1,
        _PRIME64_2,
        _PRIME64_3,
        _PRIME64_4,
        _PRIME32_2,
        _PRIME64_5,
        _PRIME32_1,
    ]
    stripes = (length - 1) // _STRIPE
    for stripe in range(stripes):
        place = stripe % _STRIPES_IN_BLOCK
        _accumulate(lanes, data, stripe * _STRIPE, 8 * place)
        if place == _STRIPES_IN_BLOCK - 1:
            _scramble(lanes)
    _accumulate(lanes, data, length - _STRIPE, 192 - _STRIPE - 7)
    total = length * _PRIME64_1
    for pair in range(4):
        total += _folded(
            lanes[2 * pair] ^ _u64(_SECRET, 11 + 16 * pair),
            lanes[2 * pair + 1] ^ _u64(_SECRET, 19 + 16 * pair),
        )
    return _avalanche(total)


def _accumulate(lanes: list[int], data: bytes, at: int, secret_at: int) -> None:
    values = _LANES.unpack_from(data, at)
    keys = _LANES.unpack_from(_SECRET, secret_at)
    for lane in range(8):
        keyed = values[lane] ^ keys[lane]
        lanes[lane ^ 1] = (lanes[lane ^ 1] + values[lane]) & _MASK
        lanes[lane] = (lanes[lane] + (keyed & 0xFFFFFFFF) * (keyed >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    keys = _LANES.unpack_from(_SECRET, 192 - _STRIPE)
    for lane in range(8):
        value = lanes[lane]
        lanes[lane] = ((value ^ value >> 47 ^ keys[lane]) * _PRIME32_1) & _MASK


def _mixed(data: bytes, at: int, secret_at: int) -> int:
    return _folded(
        _u64(data, at) ^ _u64(_SECRET, secret_at),
        _u64(data, at + 8) ^ _u64(_SECRET, secret_at + 8),
    )


def _folded(left: int, right: int) -> int:
    product = left * right
    return (product ^ product >> 64) & _MASK


def _avalanche(value: int) -> int:
    value &= _MASK
    value = (value ^ value >> 37) * _PRIME_MX1 & _MASK
    return value ^ value >> 32


def _strong_avalanche(value: int, length: int) -> int:
    value ^= _rotated(value, 49) ^ _rotated(value, 24)
    value = value * _PRIME_MX2 & _MASK
    value ^= (value >> 35) + length
    value = value * _PRIME_MX2 & _MASK
    return value ^ value >> 28


def _xxh64_avalanche(value: int) -> int:
    value = (value ^ value >> 33) * _PRIME64_2 & _MASK
    value = (value ^ value >> 29) * _PRIME64_3 & _MASK
    return value ^ value >> 32


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _swapped(value: int) -> int:
    return int.from_bytes(value.to_bytes(8, "little"), "big")


def _u32(data: bytes, at: int) -> int:
    value: int = _READ32(data, at)[0]
    return value


def _u64(data: bytes, at: int) -> int:
    value: int = _READ64(data, at)[0]
    return value
