import { expect, it } from "vitest";
import { SENTENCES } from "../../dashboard/src/app/pages/settings/audit/action-sentences.ts";
import { AUDIT_ACTIONS } from "../../src/accounts/audit-actions.ts";

it("the dashboard has a sentence for everything that the audit log can say, and no other", () => {
  expect(Object.keys(SENTENCES).sort()).toEqual([...AUDIT_ACTIONS].sort());
});
