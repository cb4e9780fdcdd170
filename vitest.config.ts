import { defineConfig } from "vitest/config";

// The workspaces import each other's source; what is packed has only dist.
const conditions = ["sliproad-source", "module", "node", "development|production"];

/**
 * Files that take more than about 20 seconds: `npm run soak` runs them, and so does `npm test` where
 * they are named. They play crashes at every commit, every write with eight callers at once, the
 * guides, every page of the documentation, the packed programs, clusters of PostgreSQL in
 * every state, the command line as processes, hours of a person who fills in the identity form, a
 * primary that freezes, processes that are killed, every route flooded, and ten of a hundred accounts
 * that misbehave.
 */
const LONG_TESTS = [
  "test/app/{restore,backup,live-story,live-story-short,live-mode}.test.ts",
  "test/accounts/people.browser.test.ts",
  "test/platform/encryption/master-keys.test.ts",
  "test/approvals/{cooling-off,evasion}.test.ts",
  "test/cli/{cli,demo,listen,webhooks,controls,members,doctor}.test.ts",
  "test/guides{,-operators}.test.ts",
  "test/linear-fields.test.ts",
  "test/offramps/{concurrency,economics,examples,give-back,tamper,canary}.test.ts",
  "test/offramps/{documents/document-gate,payouts/bank}.test.ts",
  "test/reconcile/{any-order,banks}.test.ts",
  "test/**/crashes.test.ts",
  "test/partners/evm/{two-chains,freeze,server,send-server,stories,sweep,watch}.test.ts",
  "test/partners/bank/{sftp,volume,server}.test.ts",
  "test/platform/commands/idempotency.test.ts",
  "test/platform/http/flooded-routes.test.ts",
  "test/webhooks/hanging.test.ts",
  "test/invoices/pdf/renderer.test.ts",
  "test/cli/odd-answers.test.ts",
  "test/approvals/proposals.browser.test.ts",
  "test/dashboard/*.browser.test.ts",
  "test/docs/{docs,pictures}.browser.test.ts",
  "test/dashboard/list-filters.test.ts",
  "test/platform/db/embedded.test.ts",
  "test/{sdk,cli}/packed.test.ts",
  "test/e2e/{fairness,failover}.test.ts",
  "test/reliability/*.test.ts",
  "test/verify/{every-column,held-money}.test.ts",
  "test/kyc/retention.test.ts",
  "test/apps/oauth.browser.test.ts",
  "test/e2e/kyc-{individual,business,links,files,trouble}.browser.test.ts",
  "test/invoices/{payments/claims,pdf/pdf}.test.ts",
  "test/offramps/quotes/deposits.test.ts",
  "test/onramps/rates.test.ts",
  "test/partners/evm/remote-signer.test.ts",
  "test/platform/metrics.test.ts",
  "test/linear-expressions.test.ts",
  "test/cli/documents.test.ts",
  "test/approvals/approvals.browser.test.ts",
  "test/offramps/documents/replaced-documents.test.ts",
  "test/platform/encryption/encryption.test.ts",
  "test/reports/exports.test.ts",
  "test/webhooks/long-queues.test.ts",
  "test/cli/archive.test.ts",
  "test/invoices/payments/large-invoices.test.ts",
  "test/install/build-{pages,sdk}.test.ts",
];
const long = process.env.LONG_TESTS;

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: long === "only" ? LONG_TESTS : ["test/**/*.test.ts"],
    exclude: long ? [] : LONG_TESTS,
    globalSetup: ["test/harness/global-setup.ts"],
    setupFiles: ["test/tenancy/record-statements.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A page on a busy machine takes longer than the second that is usual.
    expect: { poll: { timeout: 10_000 } },
    // Processes and not threads, as in production: signals and process-wide settings are real.
    pool: "forks",
    maxWorkers: 2,
    // Each process takes many files: reading the modules anew for every file took a third of the time.
    isolate: false,
    retry: 0,
  },
});
