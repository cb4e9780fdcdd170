import { Button, Tabs } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask } from "../../../api.ts";
import { ProblemAlert } from "../../../parts/form-dialog.tsx";
import { Copy, RecordId } from "../../../parts/record-id.tsx";
import { Failure, Loading } from "../../../parts/states.tsx";
import { may } from "../../../session.ts";
import { type Attempt, type Delivery, refreshApp, type ShownDelivery } from "./app.ts";

/** One delivery: the request, each answer, when the next try is, and sending it again. */
export function DeliveryRequest({ delivery }: { delivery: Delivery }) {
  const { app_id, id, status, attempts } = delivery;
  const shown = useQuery({
    // What was read before the last attempt is read again.
    queryKey: ["delivery", id, status, attempts.at(-1)?.number ?? 0],
    queryFn: () => ask<ShownDelivery>(`/apps/${app_id}/deliveries/${id}`),
    placeholderData: (before) => before,
  });
  if (shown.isPending) return <Loading />;
  if (!shown.data) return <Failure error={shown.error} onRetry={() => shown.refetch()} />;
  const { request, is_sample } = shown.data;
  return (
    <div className="delivery">
      <div className="delivery-head">
        <span>
          Event <RecordId id={delivery.webhook_event_id} />
          {is_sample && <span className="quiet"> · test event</span>}
        </span>
        {delivery.next_attempt_at && (
          <span className="quiet">
            Next try at {new Date(delivery.next_attempt_at).toLocaleString("en-GB")}
          </span>
        )}
        {may("manage_apps") && <Redeliver delivery={delivery} />}
      </div>
      <Tabs defaultValue="request">
        <Tabs.List>
          <Tabs.Tab value="request">Request</Tabs.Tab>
          <Tabs.Tab value="answers">Response</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="request">
          <Request request={request} />
        </Tabs.Panel>
        <Tabs.Panel value="answers">
          <Answers attempts={shown.data.delivery.attempts} />
        </Tabs.Panel>
      </Tabs>
    </div>
  );
}

function Redeliver({ delivery }: { delivery: Delivery }) {
  const { webhook_event_id, app_id } = delivery;
  const sending = useMutation({
    mutationFn: () => api.webhookEvents.redeliver(webhook_event_id, app_id),
    onSuccess: () => refreshApp(app_id),
  });
  return (
    <>
      <Button size="xs" loading={sending.isPending} onClick={() => sending.mutate()}>
        Redeliver
      </Button>
      <ProblemAlert error={sending.error} />
    </>
  );
}

function Request({ request }: { request: ShownDelivery["request"] }) {
  const { method, url, headers, body } = request;
  return (
    <>
      <p className="breakable">
        <code>
          {method} {url ?? "no URL is set now"}
        </code>
      </p>
      <dl className="headers">
        {headers.map(({ name, value, note }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              {value !== null && <code>{value}</code>}
              {note && <span className="quiet"> {note}</span>}
            </dd>
          </div>
        ))}
      </dl>
      {body === null ? (
        <p className="none">The body is no longer stored.</p>
      ) : (
        <Body text={body} label="Body of the request" />
      )}
    </>
  );
}

function Answers({ attempts }: { attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return <p className="none">It was not sent yet.</p>;
  return [...attempts].reverse().map((attempt) => (
    <div key={attempt.number} className="answer">
      <div className="strong">
        Try {attempt.number}:{" "}
        {attempt.status === null ? (attempt.error ?? "No answer") : `HTTP ${attempt.status}`}
      </div>
      <div className="quiet">
        {attempt.latency_ms} ms, {new Date(attempt.at).toLocaleString("en-GB")}
        {attempt.status !== null && attempt.error ? `, ${attempt.error}` : ""}
      </div>
      {attempt.answer && (
        <Body text={attempt.answer} label={`Body of the response to try ${attempt.number}`} />
      )}
    </div>
  ));
}

function Body({ text, label }: { text: string; label: string }) {
  return (
    <div className="raw">
      <Copy text={text} label="Copy the body" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard. */}
      <section aria-label={label} tabIndex={0}>
        <pre>{indent(text)}</pre>
      </section>
    </div>
  );
}

/** Indented for reading; the exact text is what is copied. */
function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
