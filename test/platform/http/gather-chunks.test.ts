import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { gatherChunks } from "../../../src/platform/http/gather-chunks.ts";

const BLOCK = 16 * 1024;

/** The body in chunks of these sizes, as it arrives, and as it is passed on. */
function send(sizes: readonly number[]) {
  const request = new IncomingMessage(new Socket());
  const blocks: Buffer[] = [];
  const push = request.push.bind(request);
  request.push = (block: Buffer | null) => {
    if (block) blocks.push(block);
    return push(block);
  };
  gatherChunks(request, false);
  const sent = sizes.map((size, at) => Buffer.alloc(size, at % 251));
  for (const chunk of sent) request.push(chunk);
  const before_end = blocks.length;
  request.push(null);
  return { sent: Buffer.concat(sent), blocks, before_end };
}

it.each([
  ["of one byte", Array(100_000).fill(1)],
  ["of 36 bytes", Array(10_000).fill(36)],
  ["of a block, and one byte less or more", [BLOCK, BLOCK - 1, BLOCK + 1, BLOCK]],
  ["of all sizes", Array.from({ length: 300 }, (_, at) => (at * 7919) % (2 * BLOCK))],
  ["large and small in turn", Array.from({ length: 200 }, (_, at) => (at % 2 ? 1 : 5_000))],
])("passes on all of a body in chunks %s, in few blocks", (_name, sizes) => {
  const { sent, blocks } = send(sizes);
  expect(Buffer.concat(blocks).equals(sent)).toBe(true);
  expect(blocks.length).toBeLessThanOrEqual(2 * Math.ceil(sent.length / BLOCK) + 1);
  const occupied = blocks.reduce((sum, block) => sum + block.buffer.byteLength, 0);
  expect(occupied).toBeLessThan(2 * sent.length + BLOCK);
});

it("passes on a small body at its end, without a copy", () => {
  const { blocks, before_end } = send([500]);
  expect([before_end, blocks.length]).toEqual([0, 1]);
});

it("an empty body has no block", () => {
  expect(send([]).blocks).toEqual([]);
});

it("says that the reader has enough, so that no more is read", () => {
  const request = new IncomingMessage(new Socket());
  gatherChunks(request, false);
  const room = Array.from({ length: 100 }, () => request.push(Buffer.alloc(BLOCK / 2)));
  expect(room.slice(0, 2)).toEqual([true, true]);
  expect(room).toContain(false);
});
