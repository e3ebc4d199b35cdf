# SPDX-License-Identifier: MIT
# An image for init containers, which copy the recorder into a pod. See docs/containers.md.
#
#   docker build --file integrations/container/recorder.Dockerfile --tag registry.example.com/gpumemtrace-recorder:0.1.0 \
#     --build-context gpumemtrace="$(dirname "$(gpumemtrace env --path)")" integrations/container
FROM busybox:1.37
# hadolint ignore=DL3022
COPY --from=gpumemtrace lib*.so* /recorder/
USER 65534:65534
