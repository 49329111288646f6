// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of `#tile.layout`, by their ids. The control of each keeps it, and differs in nothing else.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

// l1: shape and strides have the same nesting.
func.func private @l1_control(memref<8x4xf16, #tile.layout<((2, 4), 4) : ((1, 2), 8)>>)
// expected-error @+1 {{layout shape and strides must have the same nesting (l1)}}
func.func private @l1_flat_strides(memref<8x4xf16, #tile.layout<((2, 4), 4) : (1, 2, 8)>>)

// -----

// l2: extents are positive.
func.func private @l2_control(memref<1xf16, #tile.layout<(1) : (1)>>)
// expected-error @+1 {{layout extents must be positive (l2), got 0}}
func.func private @l2_zero(memref<0xf16, #tile.layout<(0) : (1)>>)

// -----

// l3: at least one bit.
func.func private @l3_control(memref<8xf16, #tile.layout<(8) : (1), swizzle = <1, 0, 1>>>)
// expected-error @+1 {{layout swizzle must have at least 1 bit (l3), got 0}}
func.func private @l3_no_bits(memref<8xf16, #tile.layout<(8) : (1), swizzle = <0, 0, 1>>>)

// -----

// l3: a base that is not negative.
// expected-error @+1 {{layout swizzle base must not be negative (l3), got -1}}
func.func private @l3_base(memref<8xf16, #tile.layout<(8) : (1), swizzle = <1, -1, 1>>>)

// -----

// l3: the bits that are read are not those that are written.
func.func private @l3_control(memref<8xf16, #tile.layout<(8) : (1), swizzle = <2, 0, 2>>>)
// expected-error @+1 {{layout swizzle shift must be at least its bits (l3), got shift 1 and bits 2}}
func.func private @l3_shift(memref<8xf16, #tile.layout<(8) : (1), swizzle = <2, 0, 1>>>)

// -----

// l3: no more bits than offsets have.
func.func private @l3_control(memref<8xf16, #tile.layout<(8) : (1), swizzle = <1, 1, 28>>>)
// expected-error @+1 {{layout swizzle bits, base and shift must add up to 30 or less (l3), got 1, 1 and 29}}
func.func private @l3_sum(memref<8xf16, #tile.layout<(8) : (1), swizzle = <1, 1, 29>>>)

// -----

// l4: places fit 64 bits.
func.func private @l4_control(memref<2xf16, #tile.layout<(2) : (9223372036854775806)>>)
// expected-error @+1 {{layout must reach fewer than 2^63 elements (l4)}}
func.func private @l4_too_far(memref<3xf16, #tile.layout<(3) : (9223372036854775806)>>)

// -----

// l4: a swizzle counts from the buffer's start.
func.func private @l4_control(memref<8xf16, #tile.layout<(8) : (-1), offset = 7, swizzle = <1, 0, 1>>>)
// expected-error @+1 {{swizzled layout must not reach before the buffer's start (l4), got element -1}}
func.func private @l4_before(memref<8xf16, #tile.layout<(8) : (-1), offset = 6, swizzle = <1, 0, 1>>>)

// -----

// l5: a memref has the extents of its layout.
func.func private @l5_control(memref<8x4xf16, #tile.layout<((2, 4), 4) : ((1, 2), 8)>>)
// expected-error @+1 {{memref must have the extents of its layout (l5), got 8x5 and layout #tile.layout<((2, 4), 4) : ((1, 2), 8)>}}
func.func private @l5_extent(memref<8x5xf16, #tile.layout<((2, 4), 4) : ((1, 2), 8)>>)

// -----

// l5: a run-time extent is none of them.
// expected-error @+1 {{memref must have the extents of its layout (l5), got ?x4 and layout}}
func.func private @l5_dynamic(memref<?x4xf16, #tile.layout<((2, 4), 4) : ((1, 2), 8)>>)

// -----

// A swizzle is three numbers.
// expected-error @+1 {{layout swizzle must be <bits, base, shift>, got 2 numbers}}
func.func private @swizzle_of_two(memref<8xf16, #tile.layout<(8) : (1), swizzle = <1, 1>>>)

// -----

// Nothing else stands in a layout, and nothing twice.
// expected-error @+1 {{layout must have at most one offset and one swizzle behind its strides, got 'pitch'}}
func.func private @unknown_key(memref<8xf16, #tile.layout<(8) : (1), pitch = 8>>)

// -----

// expected-error @+1 {{layout must have at most one offset and one swizzle behind its strides, got 'offset'}}
func.func private @offset_twice(memref<8xf16, #tile.layout<(8) : (1), offset = 8, offset = 8>>)

// -----

// l1: the nesting of both is read to a depth that no stack feels.
func.func private @l1_depth_control(memref<8xf16, #tile.layout<(((((((((8))))))))) : (((((((((1)))))))))>>)
// expected-error @+1 {{layout must be nested at most 32 levels deep (l1)}}
func.func private @l1_depth(memref<8xf16, #tile.layout<((((((((((((((((((((((((((((((((((8)))))))))))))))))))))))))))))))))) : (1)>>)

// -----

// l4: no place is -2^63, the number that stands for an offset of `?`.
func.func private @l4_offset_control(memref<8xf16, #tile.layout<(8) : (1), offset = -9223372036854775807>>)
// expected-error @+1 {{layout offset must be above -2^63 (l4)}}
func.func private @l4_offset(memref<8xf16, #tile.layout<(8) : (1), offset = -9223372036854775808>>)

// -----

func.func private @l4_lowest_control(memref<2xf16, #tile.layout<(2) : (-9223372036854775807)>>)
// expected-error @+1 {{layout must reach fewer than 2^63 elements (l4)}}
func.func private @l4_lowest(memref<2xf16, #tile.layout<(2) : (-9223372036854775808)>>)

// -----

// l4: behind the swizzle, too.
func.func private @l4_swizzled_control(memref<9223372036854775807xf16, #tile.layout<(9223372036854775807) : (1)>>)
// expected-error @+1 {{layout must reach fewer than 2^63 elements (l4)}}
func.func private @l4_swizzled(memref<9223372036854775807xf16, #tile.layout<(9223372036854775807) : (1), swizzle = <1, 1, 1>>>)
