import type { CallOptions } from "../api.ts";
import type { DownloadedFile } from "../download.ts";
import type { Answer, Body, Schema } from "../types.ts";
import { canBeReadAgain, type FileSource, toMultipart } from "../upload.ts";
import { Resource } from "./resource.ts";

const PATH = "/offramps/{offramp_id}/supporting-documents";
const FIRST = "/users/{user_id}/documents";

export type UploadedDocument = Schema<"Document">;
export type DocumentReview = Body<"patch", typeof PATH>["supporting_document"];
export type UploadOptions = CallOptions & { file_name?: string | undefined };

/** The document that explains a payout; each offramp has one, the last uploaded. */
export class Documents extends Resource {
  /** PDF, JPG or PNG, at most 5 MB. */
  async upload(
    offramp_id: string,
    source: FileSource,
    { file_name, ...options }: UploadOptions = {},
  ): Promise<Answer<"post", typeof PATH>> {
    const makeBody = () => toMultipart(source, file_name);
    const file = { makeBody, can_repeat: canBeReadAgain(source) };
    return this.api.upload(PATH, { path: { offramp_id } }, file, options);
  }

  /** Before the offramps exist: use the returned `submitted_url` when you create them. */
  async uploadFirst(
    user_id: string,
    source: FileSource,
    { file_name, ...options }: UploadOptions = {},
  ): Promise<UploadedDocument> {
    const makeBody = () => toMultipart(source, file_name);
    const file = { makeBody, can_repeat: canBeReadAgain(source) };
    const { document } = await this.api.upload(FIRST, { path: { user_id } }, file, options);
    return document;
  }

  downloadFirst(
    user_id: string,
    document_id: string,
    options?: CallOptions,
  ): Promise<DownloadedFile> {
    const input = { path: { user_id, document_id } };
    return this.api.download(`${FIRST}/{document_id}`, input, options);
  }

  download(offramp_id: string, options?: CallOptions): Promise<DownloadedFile> {
    return this.api.download(PATH, { path: { offramp_id } }, options);
  }

  /** `{ offramp }`, or `{ proposal }` if the amount needs two-person approval. */
  review(
    offramp_id: string,
    supporting_document: DocumentReview,
    options?: CallOptions,
  ): Promise<Answer<"patch", typeof PATH>> {
    const input = { path: { offramp_id }, body: { supporting_document } };
    return this.api.send("patch", PATH, input, options);
  }
}
