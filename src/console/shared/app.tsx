import { MantineProvider, Skeleton } from '@mantine/core'
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { Component, lazy, type ReactNode, Suspense, useMemo } from 'react'
import { CallRefused } from '../client/call.ts'
import { part, recognise, useEntered } from '../client/session.ts'
import { LanguageProvider, useMessages } from './language.tsx'
import { commonMessages } from './messages.ts'
import { Empty } from './parts.tsx'
import { SignIn } from './sign-in/page.tsx'
import { theme, variables } from './theme.ts'

/** Each part comes when its reader has signed in: nobody loads the other's. */
const Customer = lazy(() => import('../customer/index.tsx'))
const Operator = lazy(() => import('../operator/index.tsx'))

const mostRepeats = 2

/** A refusal is an answer and stands; what was lost on its way is asked for again. */
const createQueries = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        retry: (failures, error) => !(error instanceof CallRefused) && failures < mostRepeats,
      },
    },
  })

function Failed() {
  const { t } = useMessages(commonMessages)
  return (
    <main className="alone">
      <Empty icon="close" title={t.failed} about={t.failedAbout}>
        <a href="/" className="plain-button">
          {t.reload}
        </a>
      </Empty>
    </main>
  )
}

/** A fault of ours shows a way on in place of nothing. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false }
  static getDerivedStateFromError = () => ({ hasFailed: true })
  override render() {
    return this.state.hasFailed ? <Failed /> : this.props.children
  }
}

/** Asks who this is, once, where there was a session before. */
function Recognising() {
  const asked = useQuery({ queryKey: ['recognise'], queryFn: () => recognise().then(() => true), staleTime: 0 })
  return asked.error === null ? null : <Failed />
}

/** What one has read is not for whoever comes next: each entrance begins with nothing. */
function Queries({ children }: { readonly children: ReactNode }) {
  const entered = useEntered()
  const isIn = typeof entered === 'object'
  const queries = useMemo(() => ({ isIn, client: createQueries() }), [isIn])
  return <QueryClientProvider client={queries.client}>{children}</QueryClientProvider>
}

function Part() {
  const entered = useEntered()
  if (entered === 'unknown') return <Recognising />
  if (entered === 'nobody') return <SignIn />
  return (
    <Suspense fallback={<Skeleton height="100vh" radius={0} animate={false} />}>
      {part === 'operator' ? <Operator /> : <Customer />}
    </Suspense>
  )
}

export const App = ({ nonce }: { readonly nonce: string }) => (
  <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto" getStyleNonce={() => nonce}>
    <LanguageProvider>
      <Boundary>
        <Queries>
          <Part />
        </Queries>
      </Boundary>
    </LanguageProvider>
  </MantineProvider>
)
