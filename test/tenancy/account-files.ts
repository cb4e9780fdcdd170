/**
 * What `npm test` runs with one account per transaction: the main stories of each module, which
 * other files of the module also tell in the usual way. `npm run conformance:tenancy` runs more.
 */
const ACCOUNT_FILES: readonly string[] = [
  "test/offramps/offramps.test.ts",
  "test/onramps/onramps.test.ts",
  "test/webhooks/order.test.ts",
  "test/invoices/counterparty/parties.test.ts",
  "test/users/users.test.ts",
  "test/accounts/operator-acts.test.ts",
  "test/offramps/exceptions/steps.test.ts",
  "test/platform/tasks/tasks.test.ts",
  "test/platform/tasks/lost-server.test.ts",
  "test/simulation/simulation.test.ts",
];

export function runsByAccount(file: string): boolean {
  return ACCOUNT_FILES.includes(file.replaceAll("\\", "/"));
}
