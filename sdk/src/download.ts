import type { OpenAnswer } from "./attempt.ts";

/** A file from the service. Read it once, in one of the three ways. */
export type DownloadedFile = {
  content_type: string | null;
  stream: ReadableStream<Uint8Array>;
  bytes(): Promise<Uint8Array>;
  blob(): Promise<Blob>;
};

export function toDownloadedFile({ headers, stream }: OpenAnswer): DownloadedFile {
  const content_type = headers.get("content-type");
  const blob = async () => new Blob(await readAll(stream), { type: content_type ?? "" });
  return {
    content_type,
    stream,
    bytes: async () => new Uint8Array(await (await blob()).arrayBuffer()),
    blob,
  };
}

async function readAll<Chunk>(stream: ReadableStream<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return chunks;
    chunks.push(value);
  }
}
