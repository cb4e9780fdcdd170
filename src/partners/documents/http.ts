import type { GuardedSender } from "../outbound-http/guarded-sender.ts";
import type { FailureKind } from "../outbound-http/send-error.ts";
import type { DocumentSource } from "./port.ts";

const TIMEOUT_MS = 30_000;
const REDIRECTS_MAX = 3;

/** Ends of the sentence that says why the document was not accepted. */
const FAILURES: Record<Exclude<FailureKind, "too_large">, string> = {
  refused_address: "its URL is not public, or has a port other than 80 or 443.",
  dns: "the host of its URL could not be found.",
  connect: "its URL could not be reached.",
  timeout: "its server did not answer in time.",
  redirect: "its URL redirects too often or away from https; send the URL of the file itself.",
  tls: "its server has no valid certificate.",
  protocol: "its server sent an invalid response.",
};
/** Failures that will not change within minutes. */
const FINAL_FAILURES: ReadonlySet<FailureKind> = new Set([
  "refused_address",
  "too_large",
  "redirect",
]);

/** Documents from the internet. */
export function createHttpDocuments(sender: GuardedSender): DocumentSource {
  return {
    refuse: sender.refuse,
    fetch: async ({ account_id, url, bytes_max, take }) => {
      let is_taken = false;
      const answer = await sender.send({
        account_id,
        redirects_max: REDIRECTS_MAX,
        method: "GET",
        url,
        headers: { accept: "application/pdf, image/jpeg, image/png" },
        max_answer_bytes: bytes_max,
        whole_timeout_ms: TIMEOUT_MS,
        on_body: async (body, { headers }) => {
          await take(body, headers["content-type"] ?? "");
          is_taken = true;
        },
      });
      if (is_taken) return null;
      if (!("failure" in answer)) {
        return { failure: `its server answered with status ${answer.status}.`, is_final: false };
      }
      const kind = answer.failure;
      const too_large = `it is larger than ${Math.floor(bytes_max / 1_000_000)} MB.`;
      const failure = kind === "too_large" ? too_large : FAILURES[kind];
      return { failure, is_final: FINAL_FAILURES.has(kind) };
    },
  };
}
