import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { addApp, advance, emit, HOUR_MS, idle } from "./webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await server.db.database.query("update apps set deleted_at = created_at");
  await receiver.close();
});

describe("an application", () => {
  it("shows its secrets once, and stores none of them in clear", async () => {
    const made = await server.call("POST", "/apps", {
      app: { name: "Sync", webhook_url: receiver.url, events: ["kyc_update"] },
    });
    const { app, client_secret, webhook_secret } = made.body;
    expect(client_secret).toMatch(/^[\w-]{43}$/);
    expect(webhook_secret).toMatch(/^whsec_[\w+/]{43}=$/);
    expect(app).toMatchObject({ client_id: app.id, flow: "authorization_code", used_at: null });
    const shown = await server.call("GET", `/apps/${app.id}`);
    expect(shown.body.app).toEqual(app);
    const [row] = await server.db.database.query<{ text: string }>(
      "select row_to_json(apps)::text as text from apps where id = $1",
      [app.id],
    );
    const forms = (secret: string) => [secret, Buffer.from(secret).toString("hex")];
    for (const form of [...forms(client_secret), ...forms(webhook_secret)]) {
      expect(row!.text).not.toContain(form);
    }
    expect(row!.text).toContain(client_secret.slice(-4));
  });

  it("is one of at most fifty of its account, also when many are created at once", async () => {
    const { key } = await server.addAccount("Many applications");
    const create = () => server.call("POST", "/apps", { app: { name: "One" } }, { key });
    const made: Answer[] = [];
    for (let round = 0; round < 6; round += 1) {
      made.push(...(await Promise.all(Array.from({ length: 9 }, create))));
    }
    const created = made.filter(({ status }) => status === 200);
    expect(created).toHaveLength(50);
    // Two sets at a time: the last request need not be the last one that is answered.
    const refused = made.filter(({ body }) => body.error_code === "limit_exceeded");
    expect(refused).toHaveLength(4);
    await server.call("POST", `/apps/${created[0]!.body.app.id}/delete`, undefined, { key });
    expect((await create()).status).toBe(200);
  });

  it("names every field that is wrong", async () => {
    const refused = await server.call("POST", "/apps", {
      app: {
        name: " ",
        flow: "implicit",
        redirect_uris: ["https://ok.example", "/relative"],
        webhook_url: "ftp://example.com",
        webhook_secret: "short",
        webhook_headers: { "Webhook-Id": "x", "X-Fine": "y", "bad name": "z", "X-Break": "a\nb" },
        events: ["offramp_update", "everything"],
      },
    });
    expect(refused.status).toBe(400);
    const fields = refused.body.errors.map((error: { field: string }) => error.field);
    expect(fields).toEqual([
      "app.name",
      "app.flow",
      "app.redirect_uris[1]",
      "app.webhook_url",
      "app.webhook_secret",
      "app.webhook_headers.Webhook-Id",
      "app.webhook_headers.bad name",
      "app.webhook_headers.X-Break",
      "app.events",
    ]);
  });

  it.each(["x_webhook_signature", "Webhook_Id", "user_agent", "X_Forwarded-For", "content_type"])(
    "refuses the header %s, which servers read as one of the service's",
    async (name) => {
      const webhook_headers = { [name]: "x" };
      const refused = await server.call("POST", "/apps", { app: { name: "A", webhook_headers } });
      expect(refused.body.errors).toMatchObject([
        {
          field: `app.webhook_headers.${name}`,
          message: `Sliproad sets ${name} itself: remove it.`,
        },
      ]);
    },
  );

  it.each(["A\u001b[2J", "A\u009b31m", "A\nB", "A\u202eB"])(
    "refuses the name %j, which would be shown as something else",
    async (name) => {
      const refused = await server.call("POST", "/apps", { app: { name } });
      expect(refused.body.errors).toMatchObject([{ field: "app.name", code: "record_invalid" }]);
    },
  );

  it("refuses two headers that servers read as one", async () => {
    const webhook_headers = { "X-A_B": "x", "x-a-b": "y" };
    const refused = await server.call("POST", "/apps", { app: { name: "A", webhook_headers } });
    expect(refused.body.errors).toMatchObject([{ message: "x-a-b is listed twice: remove one." }]);
  });

  it("reports invalid, unknown and wrongly typed fields together", async () => {
    const app = { name: 5, webhook_url: "ftp://example.com", events: ["all"], color: "red" };
    const fieldsOf = ({ body }: Answer) => body.errors.map((one: { field: string }) => one.field);
    const refused = await server.call("POST", "/apps", { app });
    const wrong = ["app.color", "app.events", "app.name", "app.webhook_url"];
    expect(fieldsOf(refused).sort()).toEqual(wrong);
    expect(refused.body.error_code).toBe("parameter_unknown");
    const { id } = await addApp(server, {});
    expect(fieldsOf(await server.call("PATCH", `/apps/${id}`, { app })).sort()).toEqual(wrong);
    const rotate = { webhook_secret: "short", grace_hours: 1_000, color: "red" };
    const rotated = await server.call("POST", `/apps/${id}/rotate_webhook_secret`, rotate);
    expect(fieldsOf(rotated).sort()).toEqual(["color", "grace_hours", "webhook_secret"]);
    const sample = { webhook_type: "kyc_update", status: "odd", color: "red" };
    expect(fieldsOf(await server.call("POST", "/sandbox/webhook", sample)).sort()).toEqual([
      "color",
      "status",
    ]);
    const query = "/webhook_events?color=red&created_after=x&created_before=y&starting_after=z";
    expect(fieldsOf(await server.call("GET", query)).sort()).toEqual([
      "color",
      "created_after",
      "created_before",
      "starting_after",
    ]);
  });

  it("refuses a replay range that ends before it begins", async () => {
    const { id } = await addApp(server, { webhook_url: receiver.url });
    const replay = (range: object) => server.call("POST", `/apps/${id}/replay`, range);
    expect((await replay({ from: " " })).body).toMatchObject({
      status: 400,
      error_code: "parameter_missing",
      errors: [{ field: "from" }],
    });
    const backwards = { from: "2026-11-02T00:00:00Z", to: "2026-11-01T00:00:00Z" };
    expect((await replay(backwards)).body).toMatchObject({
      status: 422,
      errors: [{ field: "from", code: "record_invalid" }],
    });
  });

  it("accepts a plain secret of twelve characters, and headers until they are set to null", async () => {
    const chosen = { webhook_secret: "my-plain-secret", webhook_headers: { "X-Team": "a" } };
    const { id } = await addApp(server, { webhook_url: receiver.url, ...chosen });
    const cleared = await server.call("PATCH", `/apps/${id}`, { app: { webhook_headers: null } });
    expect(cleared.body.app.webhook.headers).toEqual([]);
    const short = await server.call("POST", "/apps", { app: { name: "A", webhook_secret: "x" } });
    expect(short.body.errors).toMatchObject([{ message: expect.stringContaining("12") }]);
    for (const name of ["__proto__", "Forwarded", "X-Real-IP", "Set-Cookie", "Date"]) {
      const text = `{"app":{"name":"A","webhook_headers":{${JSON.stringify(name)}:"1"}}}`;
      const refused = await server.call("POST", "/apps", undefined, { raw: text });
      expect([name, refused.status]).toEqual([name, 422]);
    }
  });

  it("does not show a finished secret rotation", async () => {
    const { id } = await addApp(server, { webhook_url: receiver.url });
    await server.call("POST", `/apps/${id}/rotate_webhook_secret`, { grace_hours: 1 });
    const show = async () => (await server.call("GET", `/apps/${id}`)).body.app.webhook;
    expect((await show()).secret_switch_at).not.toBeNull();
    await advance(server, 2 * HOUR_MS);
    expect((await show()).secret_switch_at).toBeNull();
  });

  it("refuses a URL that the sender would refuse", async () => {
    const port = await server.call("POST", "/apps", {
      app: { name: "A", webhook_url: "https://hooks.example.com:8443/x" },
    });
    expect(port.body.errors).toMatchObject([
      { field: "app.webhook_url", message: expect.stringContaining("port 8443") },
    ]);
    const refused_urls = [
      "http://169.254.169.254/x",
      "https://[::ffff:10.0.0.1]/x",
      "http://metadata.google.internal/x",
    ];
    for (const webhook_url of refused_urls) {
      const refused = await server.call("POST", "/apps", { app: { name: "A", webhook_url } });
      expect(refused.body.errors).toMatchObject([
        { field: "app.webhook_url", message: expect.stringContaining("is not a public address") },
      ]);
    }
  });

  it("can be changed; a new URL resets the failures of the old one", async () => {
    const app = await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => 500);
    await emit(server, {});
    await idle(server);
    const failing = await server.call("GET", `/apps/${app.id}`);
    expect(failing.body.app.webhook.failing_since).not.toBeNull();
    receiver.answer(() => 200);
    const changed = await server.call("PATCH", `/apps/${app.id}`, {
      app: { name: "New", webhook_url: `${receiver.url}/new`, is_ordered: true },
    });
    expect(changed.body.app).toMatchObject({
      name: "New",
      webhook: { is_ordered: true, failing_since: null, url: `${receiver.url}/new` },
    });
    expect(changed.body).not.toHaveProperty("webhook_secret");
    await advance(server, 6_000);
    expect(receiver.received.at(-1)).toMatchObject({ path: "/hook/new", status: 200 });
  });

  it("is created once per Idempotency-Key", async () => {
    const body = { app: { name: "Once" } };
    const headers = { "idempotency-key": "app-once" };
    const first = await server.call("POST", "/apps", body, { headers });
    const second = await server.call("POST", "/apps", body, { headers });
    expect(second.text).toBe(first.text);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
  });
});

describe("rotating the webhook secret", () => {
  const hexOf = (secret: string, raw: Buffer) =>
    createHmac("sha256", secret).update(raw).digest("hex");
  const send = async () => {
    await emit(server, {});
    await idle(server);
    const { raw, headers } = receiver.received.at(-1)!;
    const hex = headers["x-webhook-signature"] as string;
    const verifiedBy = (secret: string) => {
      try {
        return Boolean(new Webhook(secret).verify(raw, headers as Record<string, string>));
      } catch {
        return false;
      }
    };
    return { raw, hex, verifiedBy };
  };
  const rotate = async (id: string, body: Record<string, unknown>) =>
    (await server.call("POST", `/apps/${id}/rotate_webhook_secret`, body)).body.webhook_secret;

  it("signs with both secrets until the switch, then with the new one; twice in a row", async () => {
    const { id, webhook_secret } = await addApp(server, { webhook_url: receiver.url });
    let old = webhook_secret;
    for (let round = 1; round <= 2; round += 1) {
      const next = await rotate(id, {});
      const during = await send();
      expect(during.hex).toBe(hexOf(old, during.raw));
      expect([during.verifiedBy(old), during.verifiedBy(next)]).toEqual([true, true]);
      await advance(server, 23 * HOUR_MS);
      const late = await send();
      expect(late.hex).toBe(hexOf(old, late.raw));
      await advance(server, HOUR_MS);
      const after = await send();
      expect(after.hex).toBe(hexOf(next, after.raw));
      expect([after.verifiedBy(old), after.verifiedBy(next)]).toEqual([false, true]);
      old = next;
    }
  });

  it("switches when the owner requests it, and at once without a grace period", async () => {
    const { id } = await addApp(server, { webhook_url: receiver.url });
    const next = await rotate(id, { grace_hours: 168 });
    await server.call("POST", `/apps/${id}/switch_webhook_secret`);
    const switched = await send();
    expect(switched.hex).toBe(hexOf(next, switched.raw));
    const chosen = "a-secret-of-my-own";
    await rotate(id, { grace_hours: 0, webhook_secret: chosen });
    const at_once = await send();
    expect(at_once.hex).toBe(hexOf(chosen, at_once.raw));
    expect(at_once.verifiedBy(next)).toBe(false);
  });
});

describe("POST /sandbox/webhook", () => {
  it("sends a sample to the applications that subscribed to the event", async () => {
    await addApp(server, { webhook_url: `${receiver.url}/chose`, events: ["offramp_update"] });
    const { webhook_secret } = await addApp(server, { webhook_url: `${receiver.url}/not` });
    const sample = { webhook_type: "offramp_update", status: "bounced" };
    const sent = await server.call("POST", "/sandbox/webhook", sample);
    expect(sent.body).toEqual({ webhook: { webhook_type: "offramp_update", deliveries: 1 } });
    const [got] = await receiver.waitFor(1);
    expect(got).toMatchObject({
      path: "/hook/chose",
      body: { event: "offramp_update", payload: { offramp: { status: "bounced" } } },
    });
    const invoice = await server.call("POST", "/sandbox/webhook", { webhook_type: "paid" });
    expect(invoice.body.webhook.deliveries).toBe(2);
    await receiver.waitFor(3);
    const other = receiver.received.find((one) => one.path === "/hook/not")!;
    expect(other.body).toMatchObject({ event: "paid", invoice: { status: "paid" } });
    const verified = new Webhook(webhook_secret).verify(
      other.raw,
      other.headers as Record<string, string>,
    );
    expect(verified).toEqual(other.body);
  });

  it("refuses a state that the record does not have", async () => {
    const wrong = { webhook_type: "kyc_update", status: "fiat_sent" };
    const refused = await server.call("POST", "/sandbox/webhook", wrong);
    expect(refused.body).toMatchObject({ status: 422, error_code: "record_invalid" });
  });
});

describe("a real change", () => {
  it("is sent to an application that subscribed to its event", async () => {
    await addApp(server, { webhook_url: receiver.url, events: ["kyc_update"] });
    const { body } = await server.call("POST", "/users", {
      user: {
        beneficiary_type: "business",
        email: "told@example.com",
        company_name: "Invented Ltd",
      },
    });
    await server.call("PATCH", `/sandbox/users/${body.user.id}/kycs`, {
      kyc: { status: "approved" },
    });
    await idle(server);
    const statuses = receiver.received.map((got) => got.body.payload.user.kyc.general.status);
    expect(statuses.toSorted()).toContain("approved");
    const sequences = receiver.received.map((got) => Number(got.headers["x-webhook-sequence"]));
    expect(sequences.toSorted((a, b) => a - b)).toEqual(sequences.map((_, index) => index + 1));
  });
});
