import { Button, Menu } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { DownloadAll } from "../../../parts/download-records.tsx";
import { ProblemAlert } from "../../../parts/form-dialog.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { Failure, Loading } from "../../../parts/states.tsx";
import { StatusChip } from "../../../parts/status-chip.tsx";
import { InviteDialog, RemoveDialog, ResetDialog, RoleDialog } from "./dialogs.tsx";
import { inviteAgain, type Member, type Team, useTeam } from "./team.ts";

type Dialog = "role" | "remove" | "reset";

/** Who can sign in to the account, and with which role. */
export default function TeamPage() {
  const [isInviting, setInviting] = useState(false);
  const shown = useTeam();
  return (
    <>
      <PageHead title="Team">
        <Button
          leftSection={<Icon name="plus" size={16} />}
          disabled={!shown.data}
          onClick={() => setInviting(true)}
        >
          Invite member
        </Button>
      </PageHead>
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data && <Members team={shown.data} />}
      {isInviting && shown.data && (
        <InviteDialog team={shown.data} onClose={() => setInviting(false)} />
      )}
    </>
  );
}

const RULES = {
  members: "Two members must confirm every change of members and roles, so it waits for approval.",
  with_operator:
    "Only one member here can vote, so every change of members and roles waits for one of the " +
    "operator's members.",
} as const;

function Members({ team }: { team: Team }) {
  const names = new Map(team.roles.map(({ role, name }) => [role, name]));
  return (
    <>
      <p className="lead">
        {team.voters ? RULES[team.voters] : "You decide alone until a second member can vote."}
      </p>
      <DownloadAll label="Members" rows={team.members} />
      <table className="records" aria-label="Members, oldest first">
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Role</th>
            <th scope="col">State</th>
            <th scope="col">Second factor</th>
            <th scope="col">Last seen</th>
            <th scope="col">Since</th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        <tbody>
          {team.members.map((member) => (
            <tr key={member.person_id}>
              <td data-label="Member" className="title">
                <span className="strong breakable">{member.email}</span>
                {member.is_you && <span className="quiet"> (you)</span>}
              </td>
              <td data-label="Role">{names.get(member.role) ?? member.role}</td>
              <td data-label="State">
                {member.is_invited ? (
                  <StatusChip status="Invited" family="waiting" />
                ) : (
                  <StatusChip status="Active" family="done" />
                )}
              </td>
              <td data-label="Second factor">
                <Factor member={member} />
              </td>
              <td data-label="Last seen">
                {member.seen_at ? <Moment at={member.seen_at} /> : <span className="none">–</span>}
              </td>
              <td data-label="Since">
                <Moment at={member.created_at} />
              </td>
              <td data-label="Change">
                <Changes member={member} team={team} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Factor({ member }: { member: Member }) {
  if (member.is_invited) return <span className="none">–</span>;
  return member.has_factor ? (
    <StatusChip status="On" family="done" />
  ) : (
    <StatusChip status="None" family="needs_you" />
  );
}

function Changes({ member, team }: { member: Member; team: Team }) {
  const [open, setOpen] = useState<Dialog | null>(null);
  const sending = useMutation({ mutationFn: () => inviteAgain(member) });
  const close = () => setOpen(null);
  const props = { member, team, onClose: close };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button size="xs" variant="default" aria-label={`Change ${member.email}`}>
            Change
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setOpen("role")}>Change role</Menu.Item>
          {member.is_invited && (
            <Menu.Item onClick={() => sending.mutate()}>Send invitation again</Menu.Item>
          )}
          {member.has_factor && !member.is_you && (
            <Menu.Item onClick={() => setOpen("reset")}>Reset second factor</Menu.Item>
          )}
          <Menu.Item onClick={() => setOpen("remove")}>
            {member.is_invited ? "Revoke invitation" : "Remove from team"}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {sending.isSuccess && (
        <div className="quiet" role="status">
          Sent again
        </div>
      )}
      <ProblemAlert error={sending.error} />
      {open === "role" && <RoleDialog {...props} />}
      {open === "reset" && <ResetDialog {...props} />}
      {open === "remove" && <RemoveDialog {...props} />}
    </>
  );
}
