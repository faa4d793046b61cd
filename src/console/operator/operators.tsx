import type { Operator } from '../client/operator.ts'
import { Act, type ActField } from '../shared/act.tsx'
import { useMessages } from '../shared/messages.tsx'
import { Page, Panel, ReadRows } from '../shared/parts.tsx'
import { api, useMay, useRead } from './api.ts'
import { operatorMessages } from './messages.ts'
import { OnceShown } from './parts.tsx'
import { RoleAct } from './role-act.tsx'

type Role = Operator['role']

function useRoleField(initial: Role): ActField {
  const { t } = useMessages(operatorMessages)
  return { name: 'role', label: t.role, kind: 'choice', options: Object.entries(t.roles), initial }
}

export function OperatorsPage() {
  const { t, format } = useMessages(operatorMessages)
  const may = useMay()
  const roleField = useRoleField('support')
  const operators = useRead('listOperators')
  return (
    <Page
      title={t.operators}
      about={t.operatorsAbout}
      actions={
        <RoleAct
          operation="addOperator"
          label={t.addOperator}
          look={{ variant: 'filled' }}
          fields={[{ name: 'name', label: t.name }, roleField]}
          run={({ name, role }) => api.call('addOperator', { body: { name: String(name), role: role as Role } })}
          show={({ link }) => <OnceShown text={link} />}
        />
      }
    >
      <Panel>
        <ReadRows
          label={t.operators}
          of={operators}
          keyOf={(row) => row.operator_id}
          columns={(column) => [
            column(t.name, (row) => row.name),
            column(t.role, (row) => t.roles[row.role]),
            column.value(t.since, (row) => row.created_at, format.day),
            column.action(t.remove, (row) => may('removeOperator') && <OperatorActions of={row} />),
          ]}
        />
      </Panel>
    </Page>
  )
}

function OperatorActions({ of }: { readonly of: Operator }) {
  const { t } = useMessages(operatorMessages)
  const params = { operator: of.name }
  const look = { size: 'compact-sm' } as const
  return (
    <span className="line row-actions">
      <Act
        label={t.role}
        look={look}
        fields={[useRoleField(of.role)]}
        run={({ role }) => api.call('setOperatorRole', { params, body: { role: role as Role } })}
      />
      <Act
        label={t.newLink}
        look={look}
        run={() => api.call('linkOperator', { params })}
        show={({ link }) => <OnceShown text={link} />}
      />
      <Act
        label={t.remove}
        about={t.removeAbout}
        look={{ ...look, color: 'red', variant: 'outline' }}
        run={() => api.call('removeOperator', { params })}
      />
    </span>
  )
}
