import type { Operator } from '../client/operator.ts'
import { Act } from '../shared/act.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Page, Panel, Reading } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { api, useMay, useRead } from './api.ts'
import { OnceShown } from './customer.tsx'
import { operatorWords } from './words.ts'

type Role = Operator['role']

function useRoleField() {
  const words = useWords(operatorWords)
  return (initial: Role) => ({
    name: 'role',
    label: words.role,
    kind: 'choice' as const,
    options: Object.entries(words.roles),
    initial,
  })
}

export function OperatorsPage() {
  const words = useWords(operatorWords)
  const format = useFormat()
  const may = useMay()
  const roleField = useRoleField()
  const operators = useRead('listOperators')
  return (
    <Page
      title={words.operators}
      about={words.operatorsAbout}
      actions={
        may('addOperator') && (
          <Act
            label={words.addOperator}
            look={{ variant: 'filled' }}
            fields={[{ name: 'name', label: words.name }, roleField('support')]}
            run={({ name, role }) => api.call('addOperator', { body: { name: String(name), role: role as Role } })}
            show={({ link }) => <OnceShown text={link} />}
          />
        )
      }
    >
      <Panel>
        <Reading of={operators}>
          {({ items }) => (
            <Rows
              label={words.operators}
              rows={items}
              keyOf={(row) => row.operator_id}
              columns={[
                { name: 'name', label: words.name, show: (row) => row.name },
                { name: 'role', label: words.role, show: (row) => words.roles[row.role] },
                { name: 'since', label: words.since, show: (row) => format.day(row.created_at) },
                {
                  name: 'actions',
                  label: words.remove,
                  isUnlabelled: true,
                  show: (row) => may('removeOperator') && <OperatorActions of={row} />,
                },
              ]}
            />
          )}
        </Reading>
      </Panel>
    </Page>
  )
}

function OperatorActions({ of }: { readonly of: Operator }) {
  const words = useWords(operatorWords)
  const roleField = useRoleField()
  const params = { operator: of.name }
  const look = { size: 'compact-sm' } as const
  return (
    <span className="line row-actions">
      <Act
        label={words.role}
        look={look}
        fields={[roleField(of.role)]}
        run={({ role }) => api.call('setOperatorRole', { params, body: { role: role as Role } })}
      />
      <Act
        label={words.newLink}
        look={look}
        run={() => api.call('linkOperator', { params })}
        show={({ link }) => <OnceShown text={link} />}
      />
      <Act
        label={words.remove}
        about={words.removeAbout}
        look={{ ...look, color: 'red', variant: 'outline' }}
        run={() => api.call('removeOperator', { params })}
      />
    </span>
  )
}
