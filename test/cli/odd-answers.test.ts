import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openApiClient } from "../../src/cli/api-client.ts";
import { runCommand, startCommand } from "../harness/command-line.ts";
import { waitFor } from "../harness/wait-for.ts";

const environment = {
  SLIPROAD_DATA_DIR: join(tmpdir(), "sliproad-test-no-installation"),
  SLIPROAD_API_KEY: "sk_test_of_nobody_in_particular",
};
const EMPTY = '{"clock":{"now":"2026-01-01T00:00:00.000Z"},"webhook_events":[]}';
const NO_ANSWERS: [string, RequestListener][] = [
  ["a page", (_, response) => response.end("<html>Welcome</html>")],
  ["an empty object", (_, response) => response.end("{}")],
  [
    "a body that is cut",
    (_, response) => {
      response.writeHead(200, { "content-length": "100" }).write('{"clock"');
      setTimeout(() => response.destroy(), 50);
    },
  ],
];

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("control characters of a response do not reach the terminal", async () => {
  const event = { id: "e\u001b[2J", event: "paid\u0007", record_id: "r", sequence: 1 };
  const page = JSON.stringify({
    webhook_events: [{ ...event, body: null, created_at: "2026-01-01T00:00:00.000Z" }],
  });
  let pages = 0;
  const url = await serve((request, response) => {
    if (request.url!.startsWith("/sandbox/clock")) return void response.end(EMPTY);
    pages += 1;
    if (pages === 1) return void response.end(page);
    const message = "no\u001b]0;title\u0007";
    response.writeHead(422).end(JSON.stringify({ error_code: "record_invalid", message }));
  });
  const { stdout, stderr } = await runCommand(["listen", "--url", url], environment);
  expect(stdout).toContain("paid");
  expect(stderr).toContain("title");
  expect(`${stdout}${stderr}`).not.toMatch(/[^\P{Cc}\n]/u);
});

describe("a response that cannot be parsed", () => {
  it.each(NO_ANSWERS)("%s: one sentence and exit code 1", async (_name, listener) => {
    const url = await serve(listener);
    const commands = [["listen"], ["trigger", "kyc_update"], ["events", "replay", "e1"]];
    const ends = await Promise.all(
      commands.map((words) => runCommand([...words, "--url", url], environment)),
    );
    for (const { code, stdout, stderr } of ends) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(
        /^sliproad: (GET|POST) \S+: the response of \S+ cannot be read; .*\.\n$/,
      );
    }
  });

  it.each(NO_ANSWERS)(
    "%s: once connected, listen reports it, waits and continues",
    async (_, odd) => {
      let asked = 0;
      const url = await serve((request, response) => {
        asked += 1;
        if (asked === 3) odd(request, response);
        else response.end(EMPTY);
      });
      const listening = startCommand(["listen", "--url", url], environment);
      await waitFor(() => listening.printed().stderr.includes("answers again"));
      expect(listening.printed().stderr).toMatch(/cannot be read; retrying\.\n/);
      listening.child.kill("SIGINT");
      expect((await listening.ended).code).toBe(0);
    },
  );
});

describe("a response that does not arrive", () => {
  it.each(["SIGINT", "SIGTERM"] as const)(
    "%s ends listen, before and after it is connected",
    async (signal) => {
      for (const answers of [0, 2]) {
        let asked = 0;
        const url = await serve((_request, response) => {
          asked += 1;
          if (asked <= answers) response.end(EMPTY);
          else response.write("{");
        });
        const listening = startCommand(["listen", "--url", url], environment);
        await waitFor(() => asked > answers);
        listening.child.kill(signal);
        expect(await listening.ended).toMatchObject({ code: 0, stderr: "" });
      }
    },
  );

  it("is not waited for indefinitely", async () => {
    const url = await serve((_request, response) => response.write("{"));
    const api = await openApiClient({ url, key: "sk_test" }, { answer_max_ms: 100 });
    await expect(api.send("POST", "/users", {})).rejects.toMatchObject({
      code: "timed_out",
      message: `${url} did not send a complete response within 0.1 s; see the service's log, or try again.`,
    });
  });
});

it("listen survives a gateway that has lost the service, and waits until the date it sends", async () => {
  const asked_ms: number[] = [];
  const until = new Date(Math.ceil(Date.now() / 1000) * 1000 + 60_000).toUTCString();
  const url = await serve((_request, response) => {
    asked_ms.push(performance.now());
    const status = [200, 200, 502, 504][asked_ms.length - 1] ?? 200;
    response.writeHead(status).end(status === 200 ? EMPTY : "<html>Bad gateway</html>");
  });
  const listening = startCommand(["listen", "--url", url], environment);
  await waitFor(() => listening.printed().stderr.includes("answers again"));
  listening.child.kill("SIGINT");
  expect((await listening.ended).code).toBe(0);
  expect(listening.printed().stderr).toContain(" answered 502; retrying.\n");

  const dated = await serve((_, response) =>
    response.writeHead(503, { "retry-after": until }).end(),
  );
  const refusal = await (await openApiClient({ url: dated, key: "sk_test" }))
    .send("GET", "/me")
    .catch((error) => error);
  expect(refusal.retry_after_ms).toBeGreaterThan(30_000);
  expect(refusal.retry_after_ms).toBeLessThanOrEqual(60_000);
});

it("a key with characters that a header cannot contain is reported", async () => {
  const url = await serve((_request, response) => response.end("{}"));
  for (const key of ["sk_test_\u2026", "two words", "line\nbreak", ""]) {
    const ended = await runCommand(["listen", "--url", url, "--key", key], environment);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^sliproad: The API key is empty or has invalid characters; .*\.\n$/,
    );
  }
});
