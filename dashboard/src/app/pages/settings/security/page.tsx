import { Anchor, Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { DownloadAll } from "../../../parts/download-records.tsx";
import { ProblemAlert } from "../../../parts/form-dialog.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { Failure, Loading } from "../../../parts/states.tsx";
import { StatusChip } from "../../../parts/status-chip.tsx";
import { may } from "../../../session.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { LimitsCard } from "./limits-card.tsx";
import {
  type Consent,
  endSessions,
  revokeConsent,
  type Security,
  type SignedIn,
  useSecurity,
} from "./security.ts";

/** How you sign in, where you are signed in, and what needs a second person. */
export default function SecurityPage() {
  const shown = useSecurity();
  return (
    <>
      <PageHead title="Security" />
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data && <Shown security={shown.data} />}
    </>
  );
}

function Shown({ security }: { security: Security }) {
  return (
    <>
      <div className="settings-columns">
        <FactorCard security={security} />
        <div className="settings-stack">
          <ApprovalCard approval={security.approval} />
          {may("see_records") && <LimitsCard />}
        </div>
      </div>
      <Sessions sessions={security.sessions} />
      <Consents consents={security.consents} />
    </>
  );
}

function FactorCard({ security }: { security: Security }) {
  const { app_since, passkeys, recovery_codes_left, is_factor_needed } = security;
  const hasFactor = app_since !== null || passkeys > 0;
  return (
    <section className="card facts" aria-labelledby="factor-title">
      <div className="card-head">
        <h2 id="factor-title">Your sign-in</h2>
        {hasFactor ? (
          <StatusChip status="Second factor on" family="done" />
        ) : (
          <StatusChip status="No second factor" family="needs_you" />
        )}
      </div>
      <dl>
        <div>
          <dt>Authenticator app</dt>
          <dd>{app_since ? <Moment at={app_since} /> : "Not set up"}</dd>
        </div>
        <div>
          <dt>Passkeys</dt>
          <dd>{passkeys}</dd>
        </div>
        <div>
          <dt>Recovery codes left</dt>
          <dd>{hasFactor ? recovery_codes_left : "–"}</dd>
        </div>
        <div>
          <dt>Your role needs one</dt>
          <dd>{is_factor_needed ? "Yes" : "No"}</dd>
        </div>
      </dl>
      <div className="card-foot">
        {!hasFactor && (
          <Button
            component="a"
            size="xs"
            variant="default"
            href="/dashboard/security/second-factor"
          >
            Set up an authenticator app
          </Button>
        )}
        <Anchor href="/dashboard/security" size="sm">
          Password, passkeys and recovery codes
        </Anchor>
      </div>
    </section>
  );
}

function Sessions({ sessions }: { sessions: readonly SignedIn[] }) {
  const ending = useMutation({ mutationFn: endSessions });
  return (
    <section aria-labelledby="sessions-title">
      <div className="card-head">
        <h2 id="sessions-title">Sessions</h2>
        {sessions.length > 1 && (
          <Button size="xs" variant="default" onClick={() => ending.mutate("others")}>
            End all others
          </Button>
        )}
      </div>
      <ProblemAlert error={ending.error} />
      <DownloadAll label="Sessions" rows={sessions} />
      <table className="records" aria-label="Your sessions, last used first">
        <thead>
          <tr>
            <th scope="col">Device</th>
            <th scope="col">Network</th>
            <th scope="col">Account</th>
            <th scope="col">Signed in</th>
            <th scope="col">Last used</th>
            <th scope="col">End</th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((one) => (
            <tr key={one.id}>
              <td data-label="Device" className="title">
                <span className="strong">{one.device}</span>
              </td>
              <td data-label="Network">{one.network}</td>
              <td data-label="Account">{one.account_name}</td>
              <td data-label="Signed in">
                <Moment at={one.created_at} />
              </td>
              <td data-label="Last used">
                <Moment at={one.used_at} />
              </td>
              <td data-label="End">
                {one.is_this ? (
                  <StatusChip status="This one" family="done" />
                ) : (
                  <Button
                    size="compact-xs"
                    variant="default"
                    aria-label={`End the session on ${one.device}`}
                    onClick={() => ending.mutate({ id: one.id })}
                  >
                    End
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Consents({ consents }: { consents: readonly Consent[] }) {
  const revoking = useMutation({ mutationFn: revokeConsent });
  return (
    <section aria-labelledby="connected-title">
      <div className="card-head">
        <h2 id="connected-title">Connected apps</h2>
      </div>
      <ProblemAlert error={revoking.error} />
      {consents.length === 0 && <p className="none">No app may act for you.</p>}
      <DownloadAll label="Connected apps" rows={consents} />
      {consents.length > 0 && (
        <table className="records" aria-label="Apps that may act for an account">
          <thead>
            <tr>
              <th scope="col">App</th>
              <th scope="col">Of</th>
              <th scope="col">Account</th>
              <th scope="col">Authorized by</th>
              <th scope="col">Since</th>
              <th scope="col">Access</th>
            </tr>
          </thead>
          <tbody>
            {consents.map((one) => (
              <tr key={`${one.app_id} ${one.account_id} ${one.person_id}`}>
                <td data-label="App" className="title">
                  <span className="strong">{one.app_name}</span>
                </td>
                <td data-label="Of">{one.owner_name}</td>
                <td data-label="Account">{one.account_name}</td>
                <td data-label="Authorized by">{one.is_yours ? "You" : one.email}</td>
                <td data-label="Since">
                  <Moment at={one.created_at} />
                </td>
                <td data-label="Access">
                  <Button
                    size="compact-xs"
                    variant="default"
                    aria-label={`Revoke the access of ${one.app_name} to ${one.account_name}`}
                    onClick={() => revoking.mutate(one)}
                  >
                    Revoke
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
