/** A file as the service serves it. Read it once, by one of the three ways. */
export type DownloadedFile = {
  content_type: string | null;
  stream: ReadableStream<Uint8Array>;
  bytes(): Promise<Uint8Array>;
  blob(): Promise<Blob>;
};

export function toDownloadedFile(answer: Response): DownloadedFile {
  return {
    content_type: answer.headers.get("content-type"),
    stream: answer.body as ReadableStream<Uint8Array>,
    bytes: async () => new Uint8Array(await answer.arrayBuffer()),
    blob: () => answer.blob(),
  };
}
