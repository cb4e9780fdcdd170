import { afterAll, beforeAll, expect, test } from "vitest";
import {
  addApp,
  addMember,
  askFor,
  type Client,
  comeBack,
  exchangeCode,
  Person,
} from "../harness/oauth.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
let client: Client;
const EMAIL = "ada@example.test";

beforeAll(async () => {
  server = await startTestServer({
    log_destination: {
      write: (l) => {
        if (/error|failed/.test(l)) console.log(l);
      },
    },
  });
  await addMember(server, server.account_id, EMAIL);
  client = await addApp(server, server.account_id);
});
afterAll(() => server?.close());

test("full flow", async () => {
  const person = new Person(server);
  const asking = askFor(client, "openid email offline_access user:read");
  const at = await person.visit(asking.url);
  console.log(at.status, at.url, at.location);
  const signed = await person.follow(
    await person.signIn(
      EMAIL,
      at.url.startsWith("/sign-in")
        ? new URL(`http://x${asking.url}`).pathname + new URL(`http://x${asking.url}`).search
        : "/",
    ),
  );
  console.log(signed.status, signed.url, signed.text.slice(0, 1500));
  const back = await person.follow(
    await person.post(signed.url, { account_id: server.account_id, decision: "allow" }),
  );
  console.log(back.status, back.location);
  const { code } = comeBack(back);
  const tokens = await exchangeCode(server, client, code!, asking.verifier);
  console.log(tokens.status, tokens.text);
  const me = await server.call("GET", "/me", undefined, { key: tokens.body.access_token });
  console.log(me.status, me.text);
  expect(me.status).toBe(200);
  for (const path of ["/.well-known/openid-configuration", "/.well-known/jwks.json"]) {
    console.log((await server.call("GET", path, undefined, { key: null })).text);
  }
});
