import Type from "typebox";
import { orProposal } from "../../approvals/render.ts";
import { isLongerThan, lowerAscii, textOf } from "../../catalogue/text.ts";
import type { FileStore } from "../../partners/files/file-store.ts";
import { type FileType, MEDIA_TYPES } from "../../partners/files/judge-file.ts";
import { keepFile } from "../../partners/files/keep-file.ts";
import { sealStream } from "../../platform/encryption/sealed-stream.ts";
import { notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { compileRender } from "../../platform/http/render.ts";
import type { AddRoute, Caller } from "../../platform/http/route.ts";
import type { AddUploadRoute } from "../../platform/http/uploads/upload-route.ts";
import { newId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { Problems } from "../../platform/problems.ts";
import { closedObject, optional } from "../../platform/schema-parts.ts";
import { type ApprovedChangeDeps, reviewWithApproval } from "../approved-changes.ts";
import { changeOfframps } from "../change-offramps.ts";
import { OfframpAnswer } from "../schemas.ts";
import { findOfframps } from "../store.ts";
import { attachDocuments, SWEPT_AFTER_MS, sweepLater } from "./attach-documents.ts";
import { DOCUMENT_BYTES_MAX, documentKey, documentPlace, openDocument } from "./document-file.ts";
import type { Review } from "./review-documents.ts";
import { findReviewedAccount } from "./reviewed-account.ts";

type DocumentDeps = ApprovedChangeDeps &
  Pick<ModuleCore, "database" | "clock" | "executor" | "operator_id"> & {
    files: FileStore;
  };

const TAG = "Supporting documents";
const PATH = "/offramps/:offramp_id/supporting-documents";
const COMMENT_LENGTH_MAX = 500;

const UploadAnswer = Type.Object({ message: Type.String() });
const writeUpload = compileRender(UploadAnswer);
const ReviewBody = closedObject({
  supporting_document: closedObject({
    status: Type.String({ description: "approved or rejected." }),
    comment: optional(Type.String(), "The reason for a rejection; shown to the payer."),
    hash: optional(
      Type.String(),
      "SHA-256 of the file that was reviewed, in hexadecimal: if another one has replaced it, " +
        "nothing is decided.",
    ),
  }),
});

export function addDocumentRoutes(
  addRoute: AddRoute,
  addUploadRoute: AddUploadRoute<FileType>,
  deps: DocumentDeps,
): void {
  addUpload(addUploadRoute, deps);
  addDownload(addRoute, deps);
  addReview(addRoute, deps);
}

function addUpload(addUploadRoute: AddUploadRoute<FileType>, deps: DocumentDeps): void {
  const { database, executor, keyring, renderer, clock, files } = deps;
  const rule = attachDocuments((message) => writeUpload({ message }));
  const submit = executor.register(changeOfframps(keyring, renderer, rule));
  addUploadRoute({
    path: PATH,
    operation: "uploadSupportingDocument",
    summary: "Upload a supporting document",
    description:
      "One PDF, JPG or PNG of at most 5 MB. Possible in every state of the offramp. A later " +
      "file replaces the earlier one. A file that was rejected for this offramp is not accepted " +
      "again.",
    tag: TAG,
    answer: UploadAnswer,
    errors: ["record_invalid"],
    bytes_max: DOCUMENT_BYTES_MAX,
    prepare: async (caller, params) => {
      const { row, key } = await open(deps, caller, params.offramp_id);
      return { row, seal: () => sealStream(key, documentPlace(row)) };
    },
    handle: async ({ params, prepared, file, command }) => {
      const now = clock.now();
      // Due when the file, should it be left over, is no longer young.
      await database.transaction(async (tx) =>
        sweepLater(tx, [prepared.row], now, 2 * SWEPT_AFTER_MS),
      );
      const version = newId(now);
      const requested = { version, hash: Buffer.from(file.hash, "hex"), type: file.type };
      const input = { user_id: null, quote_id: null, offramp_id: params.offramp_id, requested };
      const key = documentKey(prepared.row, version);
      return keepFile(files, file.temporary_key, key, () =>
        submit(command({ ...input, problems: [] })),
      );
    },
  });
}

function addDownload(addRoute: AddRoute, deps: DocumentDeps): void {
  addRoute({
    method: "GET",
    path: PATH,
    operation: "downloadSupportingDocument",
    summary: "Download a supporting document",
    description: "Returns the file that was uploaded or fetched last.",
    tag: TAG,
    answer: Type.String(),
    file_types: Object.values(MEDIA_TYPES),
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const { row, key } = await open(deps, caller, params.offramp_id, problems);
      if (problems.length > 0) throw Refusal.of(problems);
      if (row.document_file === null) throw Refusal.of([notFound("offramp_id")]);
      const file = await openDocument(deps.files, row, row.document_file, key);
      const type = row.document_type as FileType;
      return { file, media_type: MEDIA_TYPES[type], file_name: `${row.id}.${type}` };
    },
  });
}

function addReview(addRoute: AddRoute, deps: DocumentDeps): void {
  const submit = deps.executor.register(reviewWithApproval(deps));
  addRoute({
    method: "PATCH",
    path: PATH,
    operation: "reviewSupportingDocument",
    summary: "Review a supporting document",
    description:
      "For the operator's keys, and for those of an account whose reviews the operator has " +
      "delegated to it. Until the payout has begun. A file that was rejected stays rejected: " +
      "upload another one, " +
      "or have a member approve it with a reason on `/dashboard/documents`. A document whose URL " +
      "has not been fetched yet can be rejected, but not approved. Send the `hash` of the file " +
      "that you reviewed: a later upload replaces it at any time.",
    tag: TAG,
    body: ReviewBody,
    body_example: { supporting_document: { status: "approved" } },
    answer: orProposal(OfframpAnswer),
    errors: ["value_too_long", "invalid_transition"],
    handle: async ({ caller, params, body, problems, command }) => {
      const { offramp_id } = params;
      const is_operator = caller.account_id === deps.operator_id;
      const reviewer = { account_id: caller.account_id, is_operator };
      const account_id = await findReviewedAccount(deps.database, reviewer, offramp_id);
      const named = { user_id: null, quote_id: null, offramp_id };
      const review = command({ ...named, ...checkReview(body.supporting_document, problems) });
      return submit({ ...review, account_id, actor_account_id: caller.account_id });
    },
  });
}

/** The offramp and its user's key; refuses when there is none. */
async function open(
  { database, keyring }: DocumentDeps,
  { account_id }: Caller,
  id: string,
  problems: readonly Problem[] = [],
) {
  const [row] = await findOfframps(database, [{ account_id, id }]);
  const keys = await keyring.openUserKeys(database, row ? [row] : []);
  const key = row && keys.get(account_id, row.user_id);
  if (!row || !key) throw Refusal.of([...problems, notFound("offramp_id")]);
  return { row, key };
}

function checkReview(
  input: { status?: unknown; comment?: unknown; hash?: unknown } | undefined,
  already: readonly Problem[],
): { requested: Review; problems: readonly Problem[] } {
  const problems = new Problems(already);
  const document = problems.within("supporting_document");
  const status = input?.status === "approved" || input?.status === "rejected" ? input.status : null;
  if (status === null) document.invalid("status", "Send approved or rejected.");
  const comment = textOf(input?.comment) || null;
  if (comment !== null && isLongerThan(comment, COMMENT_LENGTH_MAX)) {
    const message = `Shorten it to at most ${COMMENT_LENGTH_MAX} characters.`;
    document.report("comment", "value_too_long", message);
  }
  const hash = lowerAscii(textOf(input?.hash)) || null;
  if (hash !== null && !/^[0-9a-f]{64}$/.test(hash)) {
    document.invalid("hash", "Send the SHA-256 of the file as 64 hexadecimal digits.");
  }
  return { requested: { status, comment, document_hash: hash }, problems: problems.list };
}
