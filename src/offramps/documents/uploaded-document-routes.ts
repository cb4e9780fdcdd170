import { pipeline } from "node:stream";
import Type from "typebox";
import type { FileStore } from "../../partners/files/file-store.ts";
import { type FileType, MEDIA_TYPES } from "../../partners/files/judge-file.ts";
import { keepFile } from "../../partners/files/keep-file.ts";
import { openStream, sealStream } from "../../platform/encryption/sealed-stream.ts";
import { notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { compileRender } from "../../platform/http/render.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { AddUploadRoute } from "../../platform/http/uploads/upload-route.ts";
import { FIRST_ID, isId, newId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { TIME, titledObject, UUID } from "../../platform/schema-parts.ts";
import { findUser } from "../../users/store.ts";
import { DOCUMENT_BYTES_MAX, documentKey, uploadedPlace } from "./document-file.ts";
import { dropLater, uploadDocuments } from "./upload-documents.ts";
import { findUploadedDocument } from "./uploaded-document-store.ts";

type UploadedDocumentDeps = Pick<
  ModuleCore,
  "database" | "clock" | "keyring" | "executor" | "public_url"
> & {
  files: FileStore;
};

const TAG = "Supporting documents";
const DocumentAnswer = Type.Object({
  document: titledObject("Document", {
    id: UUID,
    submitted_url: Type.String({
      description: "Send it as `submitted_url` of the offramps that it explains.",
      examples: [
        "http://127.0.0.1:4000/users/01a1dd11-4aee-7000-adc7-78aca4556f62/documents/" +
          "01a1dd11-4aee-7000-adc7-78aca4556f63",
      ],
    }),
    created_at: TIME,
    updated_at: TIME,
  }),
});
const writeDocument = compileRender(DocumentAnswer);

/** Files uploaded before their offramps. */
export function addUploadedDocumentRoutes(
  addRoute: AddRoute,
  addUploadRoute: AddUploadRoute<FileType>,
  deps: UploadedDocumentDeps,
): void {
  const { database, executor, keyring, clock, files, public_url } = deps;
  const submit = executor.register(
    uploadDocuments(keyring, ({ user_id, id, created_at }) => {
      const submitted_url = documentUrl(public_url(), user_id, id);
      // A document never changes: another file is another document.
      const at = created_at.toISOString();
      return writeDocument({ document: { id, submitted_url, created_at: at, updated_at: at } });
    }),
  );
  const openUser = async (
    account_id: string,
    user_id: string,
    problems: readonly Problem[] = [],
  ): Promise<Buffer> => {
    const user = await findUser(database, { account_id, user_id });
    const keys = await keyring.openUserKeys(database, [{ account_id, user_id }]);
    const key = keys.get(account_id, user_id);
    if (!user || !key) throw Refusal.of([...problems, notFound("user_id")]);
    return key;
  };

  addUploadRoute({
    path: "/users/:user_id/documents",
    operation: "uploadDocument",
    summary: "Upload a document before its offramps",
    description:
      "One PDF, JPG or PNG of at most 5 MB. Name its `submitted_url` when you create offramps: " +
      "it is taken as it is. A document that no offramp names is deleted after 7 days.",
    tag: TAG,
    answer: DocumentAnswer,
    errors: [],
    bytes_max: DOCUMENT_BYTES_MAX,
    prepare: async ({ account_id }, params) => {
      const key = await openUser(account_id, params.user_id);
      const id = newId(clock.now());
      return { id, seal: () => sealStream(key, uploadedPlace({ account_id, id })) };
    },
    handle: async ({ caller: { account_id }, params, prepared: { id }, file, command }) => {
      const now = clock.now();
      // Before the file is stored: should its command never run, nothing else would remove it.
      await database.transaction(async (tx) => dropLater(tx, [{ account_id, id }], now));
      const version = newId(now);
      const hash = Buffer.from(file.hash, "hex");
      const input = { user_id: params.user_id, id, version, hash, type: file.type };
      const key = documentKey({ account_id, id }, version);
      return keepFile(files, file.temporary_key, key, () => submit(command(input)));
    },
  });

  addRoute({
    method: "GET",
    path: "/users/:user_id/documents/:document_id",
    operation: "downloadDocument",
    summary: "Download a document that was uploaded before its offramps",
    description: "The file as an attachment, for keys of the account only.",
    tag: TAG,
    answer: Type.String(),
    file_types: Object.values(MEDIA_TYPES),
    errors: [],
    handle: async ({ caller: { account_id }, params, problems }) => {
      const key = await openUser(account_id, params.user_id, problems);
      const row = await findUploadedDocument(database, { account_id, id: params.document_id });
      if (!row || row.user_id !== params.user_id)
        throw Refusal.of([...problems, notFound("document_id")]);
      if (problems.length > 0) throw Refusal.of(problems);
      const sealed = await files.openDownload(documentKey(row, row.file));
      const file = pipeline(sealed, openStream(key, uploadedPlace(row)), () => {});
      return { file, media_type: MEDIA_TYPES[row.type], file_name: `${row.id}.${row.type}` };
    },
  });
}

function documentUrl(public_url: string, user_id: string, id: string): string {
  return `${public_url}/users/${user_id}/documents/${id}`;
}

/**
 * The id of this user's document that a URL refers to, in any spelling of it; null for a URL of
 * another service. Other URLs of this service are no documents: they have an id without a record.
 */
export function readDocumentId(
  public_url: string,
  user_id: string,
  submitted_url: string,
): string | null {
  const url = URL.parse(submitted_url);
  const own = new URL(documentUrl(public_url, user_id, ""));
  if (!url || serviceOf(url) !== serviceOf(own)) return null;
  const path = decoded(url.pathname).toLowerCase();
  const start = decoded(own.pathname).toLowerCase();
  const id = path.startsWith(start) ? path.slice(start.length) : "";
  return isId(id) ? id : FIRST_ID;
}

/** Host and port; http and https on their usual ports are the same service. */
function serviceOf({ hostname, port }: URL): string {
  return `${hostname.replace(/\.$/, "")}:${["80", "443"].includes(port) ? "" : port}`;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
