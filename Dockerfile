# sadapt on a CPU: docker build -t sadapt . && docker run --rm -v "$PWD/runs:/home/sadapt/runs" sadapt train maze-small
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels && useradd --create-home --uid 1000 sadapt
USER sadapt
WORKDIR /home/sadapt
RUN mkdir runs
ENTRYPOINT ["sadapt"]
CMD ["--help"]
