import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../../src/platform/config/config.ts";
import { masterKeys } from "../../../src/platform/encryption/master-keys.ts";
import { rotateEncryption } from "../../../src/platform/encryption/rotate-encryption.ts";
import { createKmsProgram } from "../../harness/kms-program.ts";
import { startTestServer } from "../../harness/server.ts";
import { addUser } from "../../kyc/kyc-fixture.ts";
import { testMasterKeys } from "./master-keys-conformance.ts";

let data_dir: string;
let kms: Awaited<ReturnType<typeof createKmsProgram>>;
beforeAll(async () => {
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-data-"));
  kms = await createKmsProgram();
});
afterAll(async () => {
  await rm(data_dir, { recursive: true });
  await rm(kms.directory, { recursive: true });
});
const open = (environment: Record<string, string>) =>
  masterKeys(readConfig({ SLIPROAD_DATA_DIR: data_dir, ...environment }));

describe("master keys in the data directory", () => {
  testMasterKeys(() => open({}));
});

describe("master keys in the environment", () => {
  const SLIPROAD_ENCRYPTION_KEY = randomBytes(32).toString("base64");
  testMasterKeys(() => open({ SLIPROAD_ENCRYPTION_KEY }));
});

describe("master keys in a key service", () => {
  testMasterKeys(() => open({ SLIPROAD_KMS_COMMAND: kms.path }));

  it.each([
    ["is not there", "/nowhere/kms", "ENOENT"],
    ["prints no JSON", "/bin/true", "it did not print JSON"],
    ["fails", "/bin/false", "it exited with 1"],
  ])("whose program %s fail with a sentence that names the setting", async (_name, path, words) => {
    const asked = open({ SLIPROAD_KMS_COMMAND: path }).currentId();
    await expect(asked).rejects.toThrow("SLIPROAD_KMS_COMMAND failed: ");
    await expect(asked).rejects.toThrow(words);
  });

  it("are not quoted when an answer is invalid", async () => {
    const path = join(kms.directory, "talkative");
    await writeFile(path, "#!/bin/sh\necho secret-key-material\n", { mode: 0o700 });
    const error = await open({ SLIPROAD_KMS_COMMAND: path })
      .currentId()
      .catch((caught: Error) => caught);
    expect(String((error as Error).stack)).not.toContain("secret-key-material");
  });

  it("replace local keys by a rotation, and are rotated themselves", async () => {
    const server = await startTestServer();
    const user_id = await addUser(server);
    const environment = { SLIPROAD_KMS_COMMAND: kms.path };
    const withService = await startTestServer({ beside: server, environment });
    try {
      const { database, masters, config } = withService.core;
      const moved = await rotateEncryption(database, masters, config);
      expect(moved).toMatchObject({ key_id: "kms:one", kept_in: "key service" });
      await kms.setCurrent("two");
      const rotated = await rotateEncryption(database, masters, config);
      expect(rotated).toMatchObject({ key_id: "kms:two", accounts: moved.accounts });
      const left = await database.query("select distinct master_key_id from account_keys");
      expect(left).toEqual([{ master_key_id: "kms:two" }]);
      // Without the previous key.
      await rm(join(server.data_dir, "encryption.keys"));
      const fresh = await startTestServer({ beside: server, environment });
      const answer = await fresh.call("GET", `/users/${user_id}`, undefined, { key: server.key });
      expect(answer.body.user.first_name).toBe("Marisol");
      await fresh.app.close();
    } finally {
      await withService.app.close();
      await server.close();
    }
  });
});
