import { expect, it } from "vitest";
import { runCommand } from "../../harness/command-line.ts";
import { PLANTED_PERSONAL_DATA, SecretWatch } from "../../harness/planted-secrets.ts";
import { ACCOUNTS } from "../../harness/ramp.ts";
import { startTestServer } from "../../harness/server.ts";

it("a test server that logs its key fails its test file", async () => {
  const server = await startTestServer({ without_worker: true });
  server.app.server.log.info({ note: `the key is ${server.key}` }, "a line with a secret");
  await expect(server.close()).rejects.toThrow("the log has 1 secrets");
});

it("a test server that logs no secret closes without a complaint", async () => {
  const server = await startTestServer({ without_worker: true });
  server.app.server.log.info("a line without a secret");
  expect((await server.call("GET", "/users")).status).toBe(200);
  await server.close();
});

it("every planted value of a payee is found in a line", () => {
  expect(PLANTED_PERSONAL_DATA.length).toBeGreaterThan(7);
  for (const secret of PLANTED_PERSONAL_DATA) {
    const watch = new SecretWatch();
    watch.watch(undefined).write(JSON.stringify({ msg: `paid to ${secret}` }));
    expect(() => watch.assertNone(), secret).toThrow("the log has 1 secrets");
  }
});

it("a command that prints a secret of its settings fails its test", async () => {
  const secret = "sk_sandbox_planted_0123456789";
  const command = [`--${secret}`];
  await expect(runCommand(command, { SLIPROAD_API_KEY: secret })).rejects.toThrow(
    "the output of a command has 1 secrets",
  );
  expect((await runCommand(command, {})).stderr).toContain(secret);
});

it("a command that prints planted personal data fails its test", async () => {
  await expect(runCommand([`--${ACCOUNTS.eur.iban}`], {})).rejects.toThrow(
    "the output of a command has 1 secrets",
  );
});
