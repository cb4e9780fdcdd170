import type { FastifyInstance } from "fastify";
import { readOutbox } from "../../partners/mail/sandbox.ts";
import { Refusal } from "../../platform/errors.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { moment, page } from "../../platform/pages/layout.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import {
  addPageScope,
  type PageDeps,
  requireConfirmed,
  requireSession,
  sendPage,
} from "../page-scope.ts";

const OUTBOX_PATH = "/dashboard/outbox";

/** The sandbox's mail, for the operator: nothing leaves the machine. */
export function addOutboxPage(app: FastifyInstance, deps: PageDeps): void {
  const { database, index_key, clock, mode } = deps;
  // Its links set the passwords of all members, admins included.
  const options = { onRequest: [requireSession("manage_members"), requireConfirmed(deps)] };
  addPageScope(app, deps, (scope) => {
    scope.get(OUTBOX_PATH, options, async (request, reply) => {
      const session = request.member!;
      if (!session.is_operator) {
        throw new Refusal("insufficient_scope", "Only the operator's members see the outbox.");
      }
      const mails = await readOutbox(database, index_key, realTime(clock));
      const body = html`<p><a href="/dashboard">Dashboard</a></p>
<div class="heading"><h1>Outbox</h1></div>
<p class="muted">The sandbox shows its mail here instead of sending it. Mail with a link is deleted
when the link expires.</p>
${mails.length === 0 && html`<section class="card"><p class="muted">No mail.</p></section>`}
${mails.map(
  ({ id, to, subject, text, sent_at }) => html`<section class="card" aria-labelledby="mail-${id}">
<h2 id="mail-${id}">${subject}</h2>
<dl>
<div><dt>To</dt><dd>${to}</dd></div>
<div><dt>Sent</dt><dd>${moment(sent_at)}</dd></div>
</dl>
<p class="lines">${withLinks(text)}</p>
</section>`,
)}`;
      return sendPage(reply, page({ title: "Outbox", mode, session, body }));
    });
  });
}

function withLinks(text: string): Html[] {
  return text.split(/(https?:\/\/\S+)/).map((part, at) =>
    // Every second part is what the expression matched.
    at % 2 === 1 ? html`<a href="${part}">${part}</a>` : html`${part}`,
  );
}
