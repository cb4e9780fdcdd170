import { Radio, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { changeMember, invite, type Member, type Role, type Team } from "./team.ts";

type DialogProps = { member: Member; team: Team; onClose: () => void };

/** A new member; they choose their own password by a link that is sent to them. */
export function InviteDialog({ team, onClose }: { team: Team; onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState("accountant");
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title="Invite member"
      act={actOf("Invite", team)}
      is_ready={email.includes("@") && reason.trim() !== ""}
      send={() => invite({ email, role, reason })}
      onClose={onClose}
    >
      <TextInput
        label="E-mail"
        type="email"
        description="They choose their own password by a link that is sent to them."
        required
        maxLength={254}
        autoComplete="off"
        data-autofocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <RolePicker roles={team.roles} role={role} onChange={setRole} />
      <Reason reason={reason} onChange={setReason} />
    </FormDialog>
  );
}

export function RoleDialog({ member, team, onClose }: DialogProps) {
  const [role, setRole] = useState(member.role);
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={`Role of ${member.email}`}
      act={actOf("Change role", team)}
      is_ready={role !== member.role && reason.trim() !== ""}
      send={() => changeMember(member, { action: "set_role", role, reason })}
      onClose={onClose}
    >
      <RolePicker roles={team.roles} role={role} onChange={setRole} />
      <Reason reason={reason} onChange={setReason} />
    </FormDialog>
  );
}

export function RemoveDialog({ member, team, onClose }: DialogProps) {
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={
        member.is_invited ? `Revoke the invitation of ${member.email}` : `Remove ${member.email}`
      }
      act={actOf(member.is_invited ? "Revoke invitation" : "Remove", team)}
      is_dangerous
      is_ready={reason.trim() !== ""}
      send={() => changeMember(member, { action: "remove", reason })}
      onClose={onClose}
    >
      <Text size="sm">
        Their sessions in this account end, and with them what they authorized apps to do.
      </Text>
      <Reason reason={reason} onChange={setReason} />
    </FormDialog>
  );
}

export function ResetDialog({ member, team, onClose }: DialogProps) {
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={`Reset the second factor of ${member.email}`}
      act={actOf("Reset second factor", team)}
      is_dangerous
      is_ready={reason.trim() !== ""}
      send={() => changeMember(member, { action: "reset_factor", reason })}
      onClose={onClose}
    >
      <Text size="sm">
        Their authenticator app, passkeys and recovery codes are removed, and their sessions end. Do
        this only when you are sure who asks for it.
      </Text>
      <Reason reason={reason} onChange={setReason} />
    </FormDialog>
  );
}

/** Where others decide, the button says so. */
function actOf(act: string, { voters }: Team): string {
  return voters === null ? act : `Request approval: ${act.toLowerCase()}`;
}

function RolePicker(props: {
  roles: readonly Role[];
  role: string;
  onChange: (role: string) => void;
}) {
  const { roles, role, onChange } = props;
  const chosen = roles.find((one) => one.role === role);
  return (
    <div className="roles">
      <Radio.Group label="Role" value={role} onChange={onChange}>
        <Stack gap={6} mt="xs">
          {roles.map((one) => (
            <Radio key={one.role} value={one.role} label={one.name} />
          ))}
        </Stack>
      </Radio.Group>
      {chosen && (
        <section className="roles-may" aria-label={`What the role ${chosen.name} may do`}>
          <div className="strong">{chosen.name} may</div>
          <ul>
            {chosen.may.map((meaning) => (
              <li key={meaning}>{meaning}</li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function Reason(props: { reason: string; onChange: (reason: string) => void }) {
  return (
    <TextInput
      label="Reason"
      description="For the audit log, and for those who decide."
      required
      maxLength={200}
      autoComplete="off"
      value={props.reason}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}
