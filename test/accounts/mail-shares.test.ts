import { afterAll, beforeAll, expect, it } from "vitest";
import { createMember } from "../../src/accounts/create-member.ts";
import { queueMail } from "../../src/accounts/mail/queue-mail.ts";
import { sendMailTask } from "../../src/accounts/mail/send-mail-task.ts";
import { createWorker } from "../../src/platform/tasks/worker.ts";
import { SILENT } from "../harness/task-fixture.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type AccessServer, startAccessServer } from "./access-server.ts";

let server: AccessServer;
beforeAll(async () => {
  server = await startAccessServer({ public_url: "http://127.0.0.1:4000" });
});
afterAll(() => server.close());

async function invite(email: string, account_id: string): Promise<void> {
  const { database, index_key, clock } = server.deps;
  const by = { actor: "command line", reason: "test" } as const;
  const input = { account_id, email, role: "approver", ...by } as const;
  await database.transaction((tx) => createMember(tx, index_key, input, clock.now()));
}

it("mail that is accepted slowly keeps no mail of another account waiting", async () => {
  const { database, index_key, clock } = server.deps;
  const operator_id = await server.addAccount("Operator", true);
  const slow_id = await server.addAccount("Slow");
  const emails = Array.from({ length: 8 }, (_, at) => `slow-${at}@example.test`);
  for (const email of emails) await invite(email, slow_id);
  // Those who ask for a new password: their mail is the operator's.
  for (const email of emails) {
    const mail = { account_id: operator_id, kind: "reset", email } as const;
    await database.transaction(async (tx) => queueMail(tx, index_key, mail, clock.now()));
  }
  await invite("operator@example.test", operator_id);
  const begun: string[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const send = async ({ id, to }: { id: string; to: string }) => {
    begun.push(`${to} ${id}`);
    if (to.startsWith("slow")) await released;
  };
  const handler = sendMailTask({ ...server.deps, mail: { send } });
  const worker = createWorker({ ...server.deps, handlers: [handler], log: SILENT });
  worker.start();
  try {
    await waitFor(() => begun.find((mail) => mail.startsWith("operator@")));
    expect(begun.length).toBeLessThanOrEqual(10);
    release();
    // What was put off is sent then.
    await waitFor(() => new Set(begun).size === 17 || undefined);
  } finally {
    release();
    await worker.stop();
  }
});
