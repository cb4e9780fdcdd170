import { expect, it } from "vitest";
import { createReviewerIdentity } from "../../src/partners/identity/reviewers.ts";
import { createScriptedIdentity } from "../harness/scripted-identity.ts";
import { newApplication, testIdentityAdapter } from "./identity-conformance.ts";

testIdentityAdapter("of our own reviewers", async () => createReviewerIdentity());
testIdentityAdapter("scripted", async () => {
  const identity = createScriptedIdentity();
  identity.atOnce = "approved";
  for (const outcome of ["approved", "failed"] as const) {
    const { account_id, application_id } = newApplication();
    identity.tell({ account_id, application_id, result_id: "1", outcome, comment: null });
  }
  return identity;
});

it("without a vendor every application waits for a reviewer", async () => {
  const [result] = await createReviewerIdentity().submit(newApplication());
  expect(result?.outcome).toBe("manual_review");
});
