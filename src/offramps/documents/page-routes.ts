import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  addPageScope,
  type PageDeps,
  readField,
  readNotice,
  requireConfirmed,
  requireSession,
  sendFile,
  sendPage,
} from "../../accounts/page-scope.ts";
import { hasForbiddenCharacters, isLongerThan, isVisible } from "../../catalogue/text.ts";
import type { FileStore } from "../../partners/files/file-store.ts";
import type { FileType } from "../../partners/files/judge-file.ts";
import { Refusal } from "../../platform/errors.ts";
import { readPage } from "../../platform/http/list.ts";
import { isId } from "../../platform/ids.ts";
import { type ApproveDocumentDeps, approveDocument } from "./approve-document.ts";
import { openDocument } from "./document-file.ts";
import { loadDocument, loadRejectedDocuments } from "./load-rejected-documents.ts";
import {
  APPROVAL_REASON_LENGTH_MAX,
  DOCUMENTS_PATH,
  documentFilePath,
  type Notice,
  rejectedDocumentsPage,
} from "./pages.ts";
import { findReviewedAccount } from "./reviewed-account.ts";

type DocumentPageDeps = PageDeps &
  ApproveDocumentDeps & {
    files: FileStore;
    /** Wakes a worker of this process. */
    wake: () => void;
  };

const SHOWN_MAX = 50;
const HASH = /^[0-9a-f]{64}$/;
const NOTICES: Readonly<Record<string, string>> = {
  approved: "The document is approved. Your reason is in the audit log.",
  proposed: "The approval is proposed. Another member must confirm it on the page of proposals.",
};

/** The pages on which members review rejected documents and approve one with a reason. */
export function addDocumentPages(app: FastifyInstance, deps: DocumentPageDeps): void {
  const may_review = requireSession("review_documents");
  const reviewer = { onRequest: may_review };
  const approving = { onRequest: [may_review, requireConfirmed(deps, DOCUMENTS_PATH)] };
  addPageScope(app, deps, (scope) => {
    scope.get(DOCUMENTS_PATH, reviewer, (request, reply) => {
      const text = readNotice(request, NOTICES);
      return show(deps, request, reply, text ? { text, refused: null } : null);
    });
    scope.get(documentFilePath(":offramp_id"), reviewer, (request, reply) =>
      showFile(deps, request, reply),
    );
    scope.post(`${DOCUMENTS_PATH}/:offramp_id/approve`, approving, (request, reply) =>
      approve(deps, request, reply),
    );
  });
}

async function approve(
  deps: DocumentPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { person_id } = request.member!;
  const id = readOfframpId(request);
  const reason = readField(request, "reason").trim();
  try {
    checkReason(reason);
    const document_hash = readField(request, "hash");
    if (!HASH.test(document_hash)) throw new Refusal("record_not_found");
    const actor = `member:${person_id}` as const;
    const reviewer_account_id = request.member!.account_id;
    const given = { reason, document_hash, actor, reviewer_account_id };
    const account_id = await findReviewedAccount(deps.database, request.member!, id);
    const approval = await approveDocument(deps, { account_id, id }, given);
    if (!approval) throw new Refusal("record_not_found");
    deps.wake();
    const done = approval.proposal_id === null ? "approved" : "proposed";
    return reply.redirect(`${DOCUMENTS_PATH}?done=${done}`, 303);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "record_not_found") throw error;
    const text = error.problems[0]?.message ?? error.message;
    return show(deps, request, reply, { text, refused: { offramp_id: id, reason } }, error.status);
  }
}

function checkReason(reason: string): void {
  const message = !isVisible(reason)
    ? "Enter a reason for approving the document."
    : isLongerThan(reason, APPROVAL_REASON_LENGTH_MAX)
      ? `Shorten the reason to at most ${APPROVAL_REASON_LENGTH_MAX} characters.`
      : hasForbiddenCharacters(reason)
        ? "Remove NUL characters and broken Unicode from the reason."
        : null;
  if (message) throw Refusal.of([{ field: "reason", code: "record_invalid", message }]);
}

async function show(
  deps: DocumentPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  notice: Notice | null,
  status = 200,
): Promise<FastifyReply> {
  const session = request.member!;
  const { after } = request.query as Record<string, unknown>;
  const starting_after = typeof after === "string" && isId(after) ? { starting_after: after } : {};
  const { page } = readPage({ limit: SHOWN_MAX, ...starting_after });
  const view = await loadRejectedDocuments(deps, session, page);
  const shown = rejectedDocumentsPage({ mode: deps.mode, session, view, notice });
  return sendPage(reply, shown, status);
}

async function showFile(
  deps: DocumentPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { offramp, file, key } = await loadDocument(deps, request.member!, readOfframpId(request));
  const content = await openDocument(deps.files, offramp, file, key);
  return sendFile(reply, offramp.id, offramp.document_type as FileType, content);
}

function readOfframpId(request: FastifyRequest): string {
  const { offramp_id = "" } = request.params as Record<string, string>;
  if (!isId(offramp_id)) throw new Refusal("record_not_found");
  return offramp_id.toLowerCase();
}
