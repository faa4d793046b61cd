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

/** Each part is loaded after signing in, so that a browser loads only one of them. */
const Customer = lazy(() => import('../customer/index.tsx'))
const Operator = lazy(() => import('../operator/index.tsx'))

const maxRetries = 2

/** A refusal is final; a lost call is retried. */
const createQueries = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        retry: (failures, error) => !(error instanceof CallRefused) && failures < maxRetries,
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

/** Shows a page with a reload link if rendering throws. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false }
  static getDerivedStateFromError = () => ({ hasFailed: true })
  override render() {
    return this.state.hasFailed ? <Failed /> : this.props.children
  }
}

/** Restores the session of an earlier visit. */
function Recognising() {
  const recognition = useQuery({ queryKey: ['recognise'], queryFn: () => recognise().then(() => true), staleTime: 0 })
  return recognition.error === null ? null : <Failed />
}

/** A new query cache for each sign-in, so that no user sees another's answers. */
function Queries({ children }: { readonly children: ReactNode }) {
  const entered = useEntered()
  const isIn = typeof entered === 'object'
  const queries = useMemo(() => ({ isIn, client: createQueries() }), [isIn])
  return <QueryClientProvider client={queries.client}>{children}</QueryClientProvider>
}

function Part() {
  const entered = useEntered()
  if (entered === 'unknown') return <Recognising />
  if (entered === 'signed-out') return <SignIn />
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
