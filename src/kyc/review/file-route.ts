import type { FastifyInstance } from "fastify";
import {
  addPageScope,
  type PageDeps,
  requireSession,
  sendFile,
} from "../../accounts/page-scope.ts";
import type { FileStore } from "../../partners/files/file-store.ts";
import { Refusal } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { UserKey } from "../../users/store.ts";
import { openKycFile } from "../kyc-file.ts";
import { loadReviewFile } from "./load-review.ts";
import type { ReviewDeps } from "./review-kyc.ts";

type ReviewFileDeps = PageDeps & ReviewDeps & { files: FileStore };

/** A person's file as an image of the review's page asks for it: with the cookie alone. */
export function addReviewFileRoute(app: FastifyInstance, deps: ReviewFileDeps, path: string): void {
  const reviewer = { onRequest: requireSession("review_kyc") };
  addPageScope(app, deps, (scope) => {
    scope.get(`${path}/:account_id/:user_id/files/:file_id`, reviewer, async (request, reply) => {
      const { file_id, ...given } = request.params as UserKey & { file_id: string };
      if (![file_id, given.account_id, given.user_id].every(isId)) {
        throw new Refusal("record_not_found");
      }
      const key = {
        account_id: given.account_id.toLowerCase(),
        user_id: given.user_id.toLowerCase(),
      };
      const { file, subject_key } = await loadReviewFile(deps, request.member!, key, file_id);
      const content = await openKycFile(deps.files.openDownload, key, file.file, subject_key);
      return sendFile(reply, file.slot, file.type, content);
    });
  });
}
