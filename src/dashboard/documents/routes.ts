import Type from "typebox";
import { assertActiveMember } from "../../accounts/member-callers/authenticate-member.ts";
import { readReason, reasonProblems } from "../../catalogue/text.ts";
import {
  type ApproveDocumentDeps,
  approveDocument,
} from "../../offramps/documents/approve-document.ts";
import { openDocument } from "../../offramps/documents/document-file.ts";
import { findReviewedAccount } from "../../offramps/documents/reviewed-account.ts";
import type { FileStore } from "../../partners/files/file-store.ts";
import { type FileType, MEDIA_TYPES } from "../../partners/files/judge-file.ts";
import { assertFound, Refusal } from "../../platform/errors.ts";
import { cutPage, requirePage } from "../../platform/http/list.ts";
import type { AddRoute, Caller } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { closedObject, OPTIONAL_REASON } from "../../platform/schema-parts.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { describeDocuments, isReviewer, loadDocument, openFile } from "./reviewed-documents.ts";
import { listDocuments } from "./store.ts";

type DocumentDeps = ApproveDocumentDeps &
  Pick<ModuleCore, "operator_id" | "wake"> & {
    files: FileStore;
    /** Whether every document is checked before its payout. */
    is_every_checked: boolean;
  };

const PATH = "/dashboard/api/documents";
const SHARED = { tag: "Dashboard", members_only: true, answer: Type.Unknown() } as const;
const ListQuery = closedObject({
  state: Type.Optional(Type.Enum(["to_check", "rejected"])),
  starting_after: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
});
/** SHA-256 of the file that is looked at. */
const HASH = Type.String({ pattern: "^[0-9a-f]{64}$" });
const FileQuery = closedObject({ hash: HASH });
const ApproveBody = closedObject({
  hash: HASH,
  reason: OPTIONAL_REASON,
});

/** The documents that members check, and those that were rejected: an account's own, or all. */
export function addDocumentReviewRoutes(addRoute: AddRoute, deps: DocumentDeps): void {
  addReadRoutes(addRoute, deps);
  addFileRoute(addRoute, deps);
  addApproveRoute(addRoute, deps);
}

function addReadRoutes(addRoute: AddRoute, deps: DocumentDeps): void {
  addRoute({
    ...SHARED,
    method: "GET",
    path: PATH,
    operation: "listReviewedDocuments",
    summary: "List documents to check",
    description: "Of payouts that wait for the check, or those that were rejected; newest first.",
    query: ListQuery,
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const { state = "to_check", ...range } = query;
      const page = requirePage(range, problems);
      const reviewer = reviewerOf(deps, caller);
      const { is_every_checked } = deps;
      const asked = { state, is_every_checked, below_id: page.below_id, limit: page.limit + 1 };
      const { rows, has_more } = cutPage(await listDocuments(deps.database, reviewer, asked), page);
      return JSON.stringify({
        is_reviewer: await isReviewer(deps, reviewer),
        documents: await describeDocuments(deps, reviewer, rows),
        next: has_more ? rows.at(-1)!.id : null,
      });
    },
  });

  addRoute({
    ...SHARED,
    method: "GET",
    path: `${PATH}/:offramp_id`,
    operation: "showReviewedDocument",
    summary: "Show a document",
    description: "With all that is needed to judge it.",
    errors: [],
    handle: async ({ caller, params: { offramp_id: id }, problems }) => {
      const reviewer = reviewerOf(deps, caller);
      const document = isId(id) ? await loadDocument(deps, reviewer, id) : undefined;
      assertFound(document, "offramp_id", problems);
      return JSON.stringify({ document, is_reviewer: await isReviewer(deps, reviewer) });
    },
  });
}

function addFileRoute(addRoute: AddRoute, deps: DocumentDeps): void {
  addRoute({
    ...SHARED,
    method: "GET",
    path: `${PATH}/:offramp_id/file`,
    operation: "downloadReviewedDocument",
    summary: "Download a document's file",
    description: "The file with this hash. The audit log names who opened it.",
    query: FileQuery,
    answer: Type.String(),
    file_types: Object.values(MEDIA_TYPES),
    errors: ["invalid_transition"],
    handle: async ({ caller, params: { offramp_id: id }, query, problems }) => {
      if (!isId(id)) throw new Refusal("record_not_found");
      if (problems.length > 0) throw Refusal.of(problems);
      const wanted = { id, hash: query.hash ?? "" };
      const { offramp, file, key } = await openFile(deps, reviewerOf(deps, caller), wanted);
      const content = await openDocument(deps.files, offramp, file, key);
      const type = offramp.document_type as FileType;
      return { file: content, media_type: MEDIA_TYPES[type], file_name: `${offramp.id}.${type}` };
    },
  });
}

function addApproveRoute(addRoute: AddRoute, deps: DocumentDeps): void {
  addRoute({
    ...SHARED,
    method: "POST",
    path: `${PATH}/:offramp_id/approve`,
    operation: "approveReviewedDocument",
    summary: "Approve a document",
    description: "The file with this hash. One that was rejected needs a reason.",
    body: ApproveBody,
    body_example: { hash: "0".repeat(64) },
    errors: ["invalid_transition", "value_too_long"],
    handle: async ({ caller, params: { offramp_id: id }, body, problems }) => {
      const { reason, problems: found } = readReason(body.reason, problems);
      const reviewer = reviewerOf(deps, caller);
      const account_id = await findReviewedAccount(deps.database, reviewer, id);
      const shown = isId(id) ? await loadDocument(deps, reviewer, id) : undefined;
      assertFound(shown, "offramp_id", problems);
      const is_rejected = shown.document_status === "rejected";
      const missing = is_rejected && reason === "" ? reasonProblems(reason, found) : [];
      const all = [...found, ...missing];
      if (all.length > 0) throw Refusal.of(all);
      const approval = await approveDocument(
        deps,
        { account_id, id },
        {
          reason,
          document_hash: body.hash,
          actor: `member:${reviewer.person_id}`,
          reviewer_account_id: reviewer.account_id,
        },
        (tx) => assertActiveMember(tx, caller, realTime(deps.clock), account_id),
      );
      if (!approval) throw new Refusal("record_not_found");
      deps.wake();
      const { proposal_id } = approval;
      return JSON.stringify(proposal_id === null ? {} : { proposal: { id: proposal_id } });
    },
  });
}

function reviewerOf({ operator_id }: DocumentDeps, { account_id, actor = "member:" }: Caller) {
  const person_id = actor.slice("member:".length);
  return { account_id, person_id, is_operator: account_id === operator_id };
}
