import { defineConfig } from "vitest/config";

// The workspaces import each other's source; what is packed has only dist.
const conditions = ["sliproad-source", "module", "node", "development|production"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/harness/global-setup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Processes and not threads, as in production: signals and process-wide settings are real.
    pool: "forks",
    maxWorkers: 2,
    // Each process takes many files: reading the modules anew for every file took a third of the time.
    isolate: false,
    retry: 0,
  },
});
