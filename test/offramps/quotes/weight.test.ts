import { expect, it } from "vitest";
import { executeQuotes } from "../../../src/offramps/quotes/execute-quotes.ts";
import type { PayDeps } from "../../../src/offramps/quotes/payment-use-case.ts";
import { startTestServer } from "../../harness/server.ts";
import { openStory } from "../story.ts";

it("a payment weighs as much as the quote has offramps", async () => {
  const server = await startTestServer();
  const { quote_id } = await openStory(server, [{ amount: 10 }, { amount: 11 }, { amount: 12 }]);
  const commandOf = (id: string, of: string) =>
    ({ id, account_id: server.account_id, input: { quote_id: of } }) as never;
  const weights = await server.core.database.transaction(
    (tx) =>
      executeQuotes({} as PayDeps).weigh!(tx, [
        commandOf("one", quote_id),
        commandOf("unknown", "00000000-0000-7000-8000-000000000000"),
      ])!,
  );
  expect([...weights]).toEqual([
    ["one", 3_000],
    ["unknown", 0],
  ]);
  await server.close();
});
