import { Button, PasswordInput, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { auth, own, recognise, useWho } from '../../client/session.ts'
import type { Who } from '../../client/sign-in.ts'
import { Form, useTyped } from '../form.tsx'
import { useFormat } from '../format.ts'
import { useWords } from '../language.tsx'
import { useNow } from '../now.ts'
import { Facts, Page, Panel, Reading, Status } from '../parts.tsx'
import { RefusalNotice } from '../refusal-notice.tsx'
import { Rows } from '../rows.tsx'
import { browserName } from './browser-name.ts'
import { FactorPanel } from './factor.tsx'
import { accountWords } from './words.ts'

/** The signed-in browsers. */
export const useSessions = (isWanted = true) =>
  useQuery({
    queryKey: ['sessions'],
    queryFn: () => auth.call(own('listSessionsOf')),
    enabled: isWanted,
  })

/** The same for customers and operators; `children` is what only one of them has. */
export function AccountPage({ children }: { readonly children?: ReactNode }) {
  const words = useWords(accountWords)
  const who = useWho()
  return (
    <Page title={words.title} about={words.about}>
      {who === undefined ? (
        <Panel>
          <Text>{words.byToken}</Text>
        </Panel>
      ) : (
        <>
          <div className="halves">
            <PasswordPanel who={who} />
            <FactorPanel who={who} />
          </div>
          <Sessions />
          {children}
        </>
      )}
    </Page>
  )
}

function PasswordPanel({ who }: { readonly who: Who }) {
  const words = useWords(accountWords)
  const login = useTyped()
  const current = useTyped()
  const password = useTyped()
  const needsLogin = who.kind === 'customer' && who.login === null
  const change = useMutation({
    mutationFn: () =>
      auth.call(own('setPasswordOf'), {
        body: {
          password: password.value,
          ...(who.has_password && { current_password: current.value }),
          ...(needsLogin && { login: login.text }),
        },
      }),
    onSuccess: () => {
      current.set('')
      password.set('')
      return recognise()
    },
  })
  return (
    <Panel title={words.password} className="stack">
      <Facts
        of={[
          ...(who.kind === 'customer' && who.login !== null ? [] : [[words.signedInAs, who.name] as const]),
          [words.login, who.login ?? words.noLogin],
          ...(who.role === null ? [] : [[words.role, words.roles[who.role]] as const]),
        ]}
      />
      <Form className="stack" onSubmit={change.mutate}>
        {needsLogin && <TextInput label={words.newLogin} autoComplete="username" {...login.props} />}
        {who.has_password && (
          <PasswordInput label={words.currentPassword} autoComplete="current-password" {...current.props} />
        )}
        <PasswordInput
          label={words.newPassword}
          description={words.passwordAbout}
          autoComplete="new-password"
          {...password.props}
        />
        <RefusalNotice error={change.error} />
        {change.data && (
          <div role="status" className="notice good">
            {words.passwordSet}
          </div>
        )}
        <div>
          <Button type="submit" loading={change.isPending} disabled={password.value === ''}>
            {words.setPassword}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}

function Sessions() {
  const words = useWords(accountWords)
  const format = useFormat()
  const nowAt = useNow()
  const queries = useQueryClient()
  const sessions = useSessions()
  const end = useMutation({
    mutationFn: (session_id: string | undefined) =>
      auth.call(own('endSessionsOf'), { body: session_id === undefined ? {} : { session_id } }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Panel
      title={words.sessions}
      className="stack"
      aside={
        <Button size="xs" variant="default" onClick={() => end.mutate(undefined)}>
          {words.endOthers}
        </Button>
      }
    >
      <Text c="dimmed">{words.sessionsAbout}</Text>
      <Reading of={sessions}>
        {({ sessions: all }) => (
          <Rows
            label={words.sessions}
            rows={all}
            keyOf={(row) => row.session_id}
            columns={[
              { name: 'source', label: words.source, show: (row) => <span className="mono">{row.source}</span> },
              { name: 'browser', label: words.browser, isText: true, show: (row) => browserName(row.agent) },
              { name: 'used', label: words.used, show: (row) => format.away(row.used_at, nowAt) },
              {
                name: 'end',
                label: words.end,
                isUnlabelled: true,
                show: (row) =>
                  row.current ? (
                    <Status tone="good">{words.current}</Status>
                  ) : (
                    <Button size="compact-sm" variant="default" onClick={() => end.mutate(row.session_id)}>
                      {words.end}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Reading>
      <RefusalNotice error={end.error} />
    </Panel>
  )
}
